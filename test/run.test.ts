/** The test run itself: what fails fails it, and it ends whatever a test leaves behind. */
import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'strongroom-run-'));

describe('a test run', () => {
  after(() => rmSync(folder, { recursive: true }));

  function run(
    body: string,
    env: NodeJS.ProcessEnv,
    flags: readonly string[] = [],
  ): SpawnSyncReturns<Buffer> {
    const file = join(folder, 'one.test.mjs');
    writeFileSync(file, `import { it } from 'node:test';\n${body}`);
    const args = ['--test', ...flags, `--test-global-setup=${here('postgres.ts')}`, file];
    return spawnSync(process.execPath, args, { env, timeout: 150_000 });
  }

  const { NODE_TEST_CONTEXT, ...inherited } = process.env;
  const shared: NodeJS.ProcessEnv = { ...inherited, STRONGROOM_TEST_PATIENCE: '1000' };
  const said = ({ stdout, stderr }: SpawnSyncReturns<Buffer>) => `${stdout}${stderr}`;

  it('fails with a test that fails, and not with one that passes', () => {
    const { STRONGROOM_TEST_POSTGRES, ...alone } = shared; // A server of its own, whose package ends with 0.
    for (const [body, status] of [
      ['', 0],
      ['throw new Error();', 1],
    ] as const) {
      const ran = run(`it('is run', () => { ${body} });`, alone);
      assert.equal(ran.status, status, said(ran));
    }
  });

  it('takes a file that fails among others and passes alone for unsteady, and says so', () => {
    const file = join(folder, 'unsteady.test.mjs');
    const fails = (condition: string) =>
      writeFileSync(
        file,
        `import { existsSync, writeFileSync } from 'node:fs';
         import { it } from 'node:test';
         const mark = '${join(folder, 'ran')}';
         it('is run', () => {
           const again = existsSync(mark);
           writeFileSync(mark, '');
           if (${condition}) throw new Error('on purpose');
         });`,
      );
    const runAll = () =>
      spawnSync(process.execPath, [here('../scripts/test.ts'), file], { env: shared, timeout: 150_000 });
    fails('!again');
    const unsteady = runAll();
    assert.equal(unsteady.status, 0, said(unsteady));
    assert.match(said(unsteady), /Unsteady: failed with other tests, passed alone:\n.*unsteady\.test\.mjs/);
    fails('true');
    const failing = runAll();
    assert.equal(failing.status, 1, said(failing));
    assert.doesNotMatch(said(failing), /Unsteady/);
  });

  it('stops the services and commands that a failed test left running, and ends', () => {
    const ran = run(
      `import { startService } from '${here('harness.ts')}';
       import { start } from '${here('command.ts')}';
       import { startReceiver } from '${here('receiver.ts')}';
       it('fails', async () => {
         const service = await startService({ engine: 'postgres' });
         const receiver = await startReceiver();
         const command = start(['serve', '--port', '0', '--data', '${join(folder, 'data')}']);
         await command.url;
         console.log('PROCESS ' + command.child.pid);
         throw new Error('on purpose');
       });`,
      shared,
    );
    assert.equal(ran.status, 1, said(ran));
    assert.doesNotMatch(said(ran), /left open/);
    const [, pid] = /PROCESS (\d+)/.exec(said(ran))!;
    assert.throws(() => process.kill(Number(pid), 0), { code: 'ESRCH' });
  });

  it('ends and fails where something is left open, and says what', () => {
    const ran = run(
      `import { createServer } from 'node:net';
       it('passes', () => { createServer().listen(0, '127.0.0.1'); });`,
      shared,
    );
    assert.equal(ran.status, 1, said(ran));
    assert.match(said(ran), /one\.test\.mjs left open: .*TCPServerWrap/);
  });

  it('fails where a file ends before its tests are over, with 0 even', () => {
    const ran = run(
      `it('is cut short', () => { setImmediate(() => process.exit(0)); return new Promise(() => {}); });`,
      shared,
    );
    assert.equal(ran.status, 1, said(ran));
    assert.match(said(ran), /one\.test\.mjs ended before its tests were over/);
  });

  it('ends and fails where a test waits for what never comes', () => {
    const ran = run(`it('waits', () => new Promise(() => setInterval(() => {}, 1000)));`, shared, [
      '--test-timeout=1000',
    ]);
    assert.equal(ran.status, 1, said(ran));
    assert.match(said(ran), /timed out after 1000ms/);
  });
});
