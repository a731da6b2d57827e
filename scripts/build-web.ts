/** Builds the dashboard into web/dist. */
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

export async function buildWeb(): Promise<void> {
  await build({
    configFile: fileURLToPath(new URL('../web/vite.config.ts', import.meta.url)),
    logLevel: 'warn',
  });
}

if (import.meta.main) await buildWeb();
