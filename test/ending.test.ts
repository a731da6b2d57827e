/** What nobody caught fails the file in which it happened, whichever test was under way. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { hasEnded, makeQueue, unfinished } from './queue.ts';
import { collect } from './tool.ts';

const failedFiles = fileURLToPath(new URL('./failed-files.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'strongroom-ending-'));
after(() => rmSync(folder, { recursive: true }));

/** A file with one test that does this, and passes as far as it can tell. */
async function outcomeOf(name: string, aside: string) {
  const file = join(folder, `${name}.test.ts`);
  const pause = 'new Promise(resolve => setTimeout(resolve, 20))';
  writeFileSync(
    file,
    `import { it } from 'node:test';\nit('goes on', async () => { ${aside}; await ${pause}; });\n`,
  );
  return run(file, 'tap');
}

async function run(file: string, reporter: string) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, ['--test', `--test-reporter=${reporter}`, file], { env });
  const { code, stdout } = await collect(child);
  return { code, stdout };
}

describe('a test file', () => {
  it('passes where all is caught', async () => {
    assert.equal((await outcomeOf('caught', 'Promise.reject(new Error("aside")).catch(() => {})')).code, 0);
  });

  it('fails where something is thrown aside', async () => {
    const { code, stdout } = await outcomeOf('thrown', 'setTimeout(() => { throw new Error("aside"); })');
    assert.equal(code, 1);
    assert.match(stdout, /aside/);
    assert.match(stdout, /^ *not ok 1 - goes on$/m, 'its test is named');
  });

  it('fails where a promise is rejected with nobody there', async () => {
    const { code, stdout } = await outcomeOf(
      'rejected',
      'Promise.resolve().then(() => { throw new Error("aside"); })',
    );
    assert.equal(code, 1);
    assert.match(stdout, /aside/);
  });

  it('is followed through its timers and sockets, and not through each promise', async () => {
    const hooks = 'const { executionAsyncId: id } = await import("node:async_hooks"); const first = id();';
    const followed = `${hooks} await null; if (id() !== first) throw new Error("followed")`;
    assert.equal((await outcomeOf('followed', followed)).code, 0);
  });

  it('is run again where what failed in it was defined by a helper', async () => {
    const [helper, file] = ['helper.ts', 'helped.test.ts'].map(name => join(folder, name)) as [
      string,
      string,
    ];
    const failing = `it('fails', () => { throw new Error(); })`;
    writeFileSync(helper, `import { it } from 'node:test';\nexport const suite = () => ${failing};\n`);
    writeFileSync(file, `import { suite } from './helper.ts';\nsuite();\n`);
    assert.equal((await run(file, failedFiles)).stdout, `${file}\n`);
  });
});

describe('files that one process takes one after another', () => {
  /** So many files, as a queue whose only process runs without a database. */
  async function runAll(name: string, ...sources: readonly string[]) {
    const queue = join(folder, name);
    mkdirSync(queue);
    const files = sources.map((source, at) => {
      const file = join(queue, `${at}-${name}.test.ts`);
      writeFileSync(file, `import { after, it } from 'node:test';\n${source}\n`);
      return file;
    });
    const [program] = makeQueue(queue, files, 1);
    const outcome = await run(program!, failedFiles);
    return { ...outcome, files, program, unfinished: unfinished(queue) };
  }

  const passing = `it('passes', () => {});`;

  it('are over, with what they left running, before the next one begins', async () => {
    const note = (what: string) => `appendFileSync(${JSON.stringify(join(folder, 'order'))}, '${what} ')`;
    const first = `import { appendFileSync } from 'node:fs';
      import { atTheLatest } from '${new URL('./ending.ts', import.meta.url)}';
      after(() => ${note('hook')});
      it('leaves something running', () => { atTheLatest(() => ${note('stopped')}); });`;
    const second = `import { appendFileSync } from 'node:fs';\nit('comes next', () => ${note('next')});`;
    assert.equal((await runAll('order-of-files', first, second)).code, 0);
    assert.deepEqual(readFileSync(join(folder, 'order'), 'utf8').split(' ').slice(0, 3), [
      'hook',
      'stopped',
      'next',
    ]);
  });

  it('are named where something in them failed, or where they can’t be loaded, and the others run', async () => {
    const failing = `it('fails', () => { throw new Error(); });`;
    const { code, stdout, files, unfinished } = await runAll(
      'failing',
      failing,
      passing,
      'throw 1;',
      passing,
    );
    assert.equal(code, 1);
    assert.deepEqual(stdout.trim().split('\n'), [files[0], files[2]]);
    assert.deepEqual(unfinished, []);
  });

  it('are told apart where the process ended before they did', async () => {
    const cutShort = `it('ends the process', () => process.exit(0));`;
    const { code, files, unfinished, program } = await runAll('cut-short', passing, cutShort, passing);
    assert.equal(code, 1);
    assert.deepEqual(unfinished, files.slice(1));
    assert.equal(hasEnded(program!), false);
  });

  it('passed where their process fails after them, and it is named itself', async () => {
    const failing = `it('passes', () => { process.on('exit', () => { process.exitCode = 1; }); });`;
    const { code, stdout, unfinished, program } = await runAll('after-them', failing, passing);
    assert.equal(code, 1);
    assert.deepEqual([stdout, unfinished, hasEnded(program!)], [`${program}\n`, [], true]);
  });
});

it('a campaign or a benchmark ends with the code that it chose, although it may start a database server', async () => {
  const harness = new URL('./harness.ts', import.meta.url);
  const file = join(folder, 'campaign.ts');
  writeFileSync(file, `import '${harness}';\nprocess.exitCode = 3;\n`);
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env;
  assert.equal((await collect(spawn(process.execPath, [file], { env }))).code, 3);
});
