/** Builds the dashboard into web/dist, with a digest of its sources next to it. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const builtFrom = join(root, 'web/.built-from');
/** The pages import the contract, and are built with the packages in the lock file. */
const sources = ['web/{src,public}/**', 'web/*.{html,ts,json}', 'src/contract/**', 'package-lock.json'];

export async function buildWeb(): Promise<void> {
  const { build } = await import('vite');
  const digest = digestOfSources();
  await build({ configFile: join(root, 'web/vite.config.ts'), logLevel: 'warn' });
  writeFileSync(builtFrom, digest);
}

/** Builds only if a source has changed since the last build. */
export async function buildChangedWeb(): Promise<void> {
  if (lastBuilt() !== digestOfSources()) await buildWeb();
}

function lastBuilt(): string | null {
  try {
    statSync(join(root, 'web/dist/index.html'));
    return readFileSync(builtFrom, 'utf8');
  } catch {
    return null;
  }
}

function digestOfSources(): string {
  const hash = createHash('sha256');
  for (const file of globSync(sources, { cwd: root }).sort()) {
    const path = join(root, file);
    if (statSync(path).isFile()) hash.update(`${file}\0`).update(readFileSync(path)).update('\0');
  }
  return hash.digest('hex');
}

if (import.meta.main) void buildWeb();
