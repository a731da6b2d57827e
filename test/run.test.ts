import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';

const setup = fileURLToPath(new URL('postgres.ts', import.meta.url));

it('a test that fails fails the run, and one that passes does not', () => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-run-'));
  try {
    for (const [body, status] of [
      ['', 0],
      ['throw new Error();', 1],
    ] as const) {
      const file = join(folder, `${status}.test.mjs`);
      writeFileSync(file, `import { it } from 'node:test'; it('is run', () => { ${body} });`);
      const { NODE_TEST_CONTEXT, ...env } = process.env;
      const run = spawnSync(process.execPath, ['--test', `--test-global-setup=${setup}`, file], { env });
      assert.equal(run.status, status, String(run.stdout) + String(run.stderr));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
