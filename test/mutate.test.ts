/** The list of guards fits the code, and the command that breaks them tells a survivor from one that is noticed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { faultsOf, listFolder, loadMutations, type Mutation, root } from '../scripts/mutations.ts';
import { atTheLatest } from './ending.ts';

const noticed: Mutation = {
  id: 'noticed',
  guards: 'a token with a wrong checksum is looked up',
  file: 'src/access/token.ts',
  old: 'if (!endsInItsChecksum(text)) return null;',
  new: '',
  tests: ['token'],
};
const unnoticed: Mutation = { ...noticed, id: 'unnoticed', file: 'LICENSE', old: 'Version 2.0,', new: '' };
const gone: Mutation = { ...noticed, id: 'gone', old: 'text that stands nowhere' };
const doubled: Mutation = { ...noticed, id: 'doubled', old: 'return null;' };

describe('the list of guards', () => {
  it('has 150 entries, and each applies: its text stands once, its tests exist, and what it leaves parses', () => {
    const mutations = loadMutations(listFolder);
    assert.ok(mutations.length >= 150, String(mutations.length));
    assert.deepEqual(faultsOf(mutations), []);
  });

  it('names an entry that does not apply, is there twice, has no tests or leaves no program', () => {
    const faults = faultsOf([
      noticed,
      noticed,
      gone,
      doubled,
      { ...noticed, id: 'untested', tests: ['nowhere'] },
      { ...noticed, id: 'empty', tests: [] },
      { ...noticed, id: 'broken', new: 'if (' },
      { ...noticed, id: 'same', new: noticed.old },
      { ...noticed, id: 'missing', file: 'src/nowhere.ts' },
    ]);
    assert.deepEqual(
      [...new Set(faults.map(fault => fault.split(':')[0]))],
      ['noticed', 'gone', 'doubled', 'untested', 'empty', 'broken', 'same', 'missing'],
    );
  });
});

describe('npm run mutate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-mutations-'));
  after(() => rmSync(folder, { recursive: true }));

  function start(mutations: readonly Mutation[], ...args: string[]) {
    const [lists, scratch] = [mkdtempSync(join(folder, 'lists-')), mkdtempSync(join(folder, 'scratch-'))];
    mutations.forEach((mutation, index) => {
      writeFileSync(join(lists, `${index}.json`), JSON.stringify([mutation]));
    });
    const child = spawn(process.execPath, ['scripts/mutate.ts', '--from', lists, ...args], {
      cwd: root,
      env: { ...process.env, TMPDIR: scratch },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    atTheLatest(() => child.kill('SIGTERM'));
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (said += text));
    const ended = once(child, 'close').then(([code]) => ({ code, said, left: readdirSync(scratch) }));
    return { child, ended };
  }

  it('breaks a guard on a copy, and ends with 0 where the tests notice', async () => {
    const { code, said, left } = await start([noticed, gone], '--only', 'noticed').ended;
    assert.equal(code, 0, said);
    assert.match(said, /\[1\/1\] noticed +noticed {2}a token with a wrong checksum/);
    assert.deepEqual(left, []);
    assert.deepEqual(faultsOf([noticed]), [], 'the checkout is as it was');
  });

  it('prints a guard whose absence nobody notices, with its place, and ends with 1', async () => {
    const { code, said, left } = await start([noticed, unnoticed], '--file', 'LICENSE').ended;
    assert.equal(code, 1, said);
    assert.match(said, /1 guards broken, 1 unnoticed\nunnoticed {2}.* \(LICENSE\)/);
    assert.deepEqual(left, []);
  });

  it('breaks two guards together that stand behind each other', async () => {
    const { old, new: change, file } = noticed;
    const both = { ...unnoticed, id: 'both', also: [{ file, old, new: change }] };
    assert.equal((await start([both]).ended).code, 0);
  });

  it('ends with 1 where an entry does not apply, and runs nothing', async () => {
    for (const wrong of [gone, doubled]) {
      const { code, said } = await start([noticed, wrong]).ended;
      assert.equal(code, 1);
      assert.match(said, new RegExp(`\\n${wrong.id}: its text stands \\d times in src/access/token.ts`));
      assert.doesNotMatch(said, /broken, /);
    }
    const { code, said } = await start([noticed], '--only', 'noticed,other').ended;
    assert.equal(code, 1);
    assert.match(said, /not in the list: other/);
  });

  it('leaves nothing behind where it is interrupted', async () => {
    const many = Array.from({ length: 6 }, (_, index) => ({ ...unnoticed, id: `unnoticed ${index}` }));
    const { child, ended } = start(many);
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    const { code, left, said } = await ended;
    assert.equal(code, 130, said);
    assert.deepEqual(left, []);
  });
});
