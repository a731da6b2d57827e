/**
 * Runs after an install: builds the dashboard, and starts the service once in an empty folder, so that everything is
 * compiled at its first real start.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildWeb } from './build-web.ts';

await buildWeb();

const folder = mkdtempSync(join(tmpdir(), 'strongroom-prepare-'));
const command = fileURLToPath(new URL('../bin/strongroom.js', import.meta.url));
const service = spawn(process.execPath, [command, 'serve', '--data', folder, '--port', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
service.stdout.once('data', () => service.kill('SIGTERM'));
await once(service, 'exit');
rmSync(folder, { recursive: true });
