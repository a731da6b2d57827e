/** The official conformance suite, every scenario, for every revision that it knows. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startWorld, type World } from './mcp-world.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const revisions = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];

interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

describe('the official conformance suite', () => {
  let world: World;
  let folder: string;
  let listed: ReadonlySet<string>;
  const failed = new Set<string>();

  before(async () => {
    world = await startWorld();
    folder = await mkdtemp(join(tmpdir(), 'strongroom-conformance-'));
    const document = await readFile(join(root, 'docs/mcp-conformance.md'), 'utf8');
    listed = new Set(
      [...document.matchAll(/^\| ([\w-]+) \| `([\w-]+)` \|$/gm)].map(row => `${row[1]} ${row[2]}`),
    );
  });
  after(async () => {
    await world.service.stop();
    await rm(folder, { recursive: true });
  });

  /** The suite's own exit code counts what does not apply, so its records are read instead. */
  async function checksOf(revision: string): Promise<Map<string, Check>> {
    const output = join(folder, revision);
    const url = `${world.service.url}/mcp`;
    const args = [
      'server',
      '--url',
      url,
      '--suite',
      'all',
      '--spec-version',
      revision,
      '--output-dir',
      output,
    ];
    await new Promise(resolve =>
      execFile(join(root, 'node_modules/.bin/conformance'), args, { maxBuffer: 1 << 26 }, resolve),
    );
    const checks = new Map<string, Check>();
    for (const run of await readdir(output)) {
      const scenario = run.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, '');
      const records: Check[] = JSON.parse(await readFile(join(output, run, 'checks.json'), 'utf8'));
      for (const check of records) checks.set(`${scenario} ${check.id}`, check);
    }
    return checks;
  }

  for (const revision of revisions) {
    it(`fails nothing that applies in ${revision}`, async () => {
      const checks = await checksOf(revision);
      const failures = [...checks].filter(([, { status }]) => status === 'FAILURE');
      for (const [name] of failures) failed.add(name);
      const unlisted = failures.filter(([name]) => !listed.has(name));
      assert.deepEqual(
        unlisted.map(([name, { errorMessage }]) => `${name}: ${errorMessage}`),
        [],
      );
      const passed = [...checks.values()].filter(({ status }) => status === 'SUCCESS').length;
      assert.ok(passed >= 3, `${passed} checks passed`);
    });
  }

  it('the list of what does not apply names nothing that passes', () => {
    assert.deepEqual(
      [...listed].filter(name => !failed.has(name)),
      [],
    );
  });
});
