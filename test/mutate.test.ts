/** The list of guards fits the code, and the command that breaks them tells a survivor from one that is noticed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type Coverage, digestOf, testsOfLine } from '../scripts/coverage.ts';
import { declarationsIn, fileOf } from '../scripts/declarations.ts';
import { filesOf, isEquivalent, loadEquivalents, mutantsOf, rooms } from '../scripts/mutants.ts';
import { changed, faultsOf, listFolder, loadMutations, type Mutation, root } from '../scripts/mutations.ts';
import { scoreOf } from '../scripts/random-mutants.ts';
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

describe('a guard that names its declaration', () => {
  const index = new Map([
    ['src/a/one.ts', declarationsIn('export function judge() { if (x) throw 1; }\nconst most = 2;')],
    ['src/b/two.ts', declarationsIn('class Line {\n  take() {}\n  #take() {}\n}\nconst most = 3;')],
  ]);

  it('is found in whichever file has it, and by a part of the path where several have', () => {
    assert.equal(fileOf('judge', index), 'src/a/one.ts');
    assert.equal(fileOf('Line.#take', index), 'src/b/two.ts');
    assert.equal(fileOf('two:most', index), 'src/b/two.ts');
    assert.throws(() => fileOf('most', index), /most is declared in 2 files/);
    assert.throws(() => fileOf('nothing', index), /nothing is declared in 0 files/);
  });

  it('is broken there alone, however its text is laid out', () => {
    const text =
      'function one() {\n  if (\n    a &&\n    b\n  ) stop();\n}\nfunction two() {\n  if (a && b) stop();\n}\n';
    const change = { file: 'x.ts', old: 'a && b', new: 'a' };
    assert.equal(changed(text, { ...change, in: 'one' }), text.replace(/a &&\s+b\n/, 'a\n'));
    assert.equal(changed(text, { ...change, in: 'two' }), text.replace('(a && b)', '(a)'));
    assert.throws(() => changed(text, change), /stands 2 times in x\.ts/);
  });
});

describe('the mutants of the sources', () => {
  const text = `
    const most = 20;
    export function may(caller: { rank: number } | undefined, least = 3): boolean {
      if (caller === undefined) throw new Error('who?');
      checkRank(caller);
      const rank = Math.min(caller.rank ?? 0, most);
      cache ??= rank;
      return !isBlocked(caller) && rank >= least;
    }`;
  const mutants = mutantsOf('some.ts', text);

  it('are one for each condition, operand, comparison, bound, throw, refusal and default', () => {
    assert.deepEqual(
      mutants.map(({ kind, old, new: replacement }) => [kind, old, replacement]),
      [
        ['bound', '20', '(20) + 1'],
        ['default', 'least = 3', 'least'],
        ['condition', 'caller === undefined', 'true'],
        ['condition', 'caller === undefined', 'false'],
        ['comparison', 'caller === undefined', 'caller !== undefined'],
        ['throw', "throw new Error('who?');", ';'],
        ['refusal', 'checkRank(caller);', ';'],
        ['bound', 'Math.min', 'Math.max'],
        ['default', 'caller.rank ?? 0', '(caller.rank)'],
        ['default', 'cache ??= rank', 'cache = rank'],
        ['operand', '!isBlocked(caller) && rank >= least', '(!isBlocked(caller))'],
        ['operand', '!isBlocked(caller) && rank >= least', '(rank >= least)'],
        ['condition', '!isBlocked(caller)', '(isBlocked(caller))'],
        ['comparison', 'rank >= least', 'rank > least'],
      ],
    );
    assert.deepEqual([...new Set(mutants.map(({ line }) => line))], [2, 3, 4, 5, 6, 7, 8]);
  });

  it('parse, in every room', () => {
    for (const room of Object.keys(rooms)) {
      const files = filesOf(room);
      assert.ok(files.length > 0, room);
      const file = files[files.length >> 1]!; // All of them take minutes.
      const source = readFileSync(join(root, file), 'utf8');
      for (const mutant of mutantsOf(file, source)) stripTypeScriptTypes(changed(source, mutant));
    }
  });

  it('are skipped only for a written reason, which applies to the code as it is', () => {
    for (const one of loadEquivalents()) {
      assert.ok(one.reason.length >= 20, JSON.stringify(one));
      const source = readFileSync(join(root, one.file), 'utf8');
      const lines = source.split('\n');
      assert.ok(
        mutantsOf(one.file, source).some(mutant => isEquivalent(mutant, lines, [one])),
        `applies no longer: ${JSON.stringify(one)}`,
      );
    }
  });

  it('are tried by the tests that run the line, and where the file has changed since, that run any of it', () => {
    const coverage: Coverage = {
      tests: {
        one: { seconds: 1, passed: true },
        two: { seconds: 1, passed: true },
        red: { seconds: 1, passed: false },
      },
      files: { 'a.ts': { digest: digestOf('text'), lines: { one: [1, 2], two: [2], red: [1, 2] } } },
    };
    assert.deepEqual(testsOfLine(coverage, 'a.ts', 1, 'text'), ['one']);
    assert.deepEqual(testsOfLine(coverage, 'a.ts', 2, 'text'), ['one', 'two']);
    assert.deepEqual(testsOfLine(coverage, 'a.ts', 1, 'changed'), ['one', 'two']);
    assert.deepEqual(testsOfLine(coverage, 'b.ts', 1, 'text'), []);
  });

  it('have a score with its margin of error', () => {
    assert.equal(
      scoreOf(400, 20),
      '400 mutants, 20 unnoticed: 95.0 % noticed (92.4 % to 96.7 % with 95 % confidence)',
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

  it('draws a sample of one file by its seed, and prints the score and what no test runs', async () => {
    const file = 'src/access/token.ts';
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    const all = lines.map((_, index) => index + 1);
    const coverage: Coverage = {
      tests: { token: { seconds: 1, passed: true } },
      files: { [file]: { digest: digestOf(lines.join('\n')), lines: { token: all } } },
    };
    const [covered, empty] = [join(folder, 'covered.json'), join(folder, 'empty.json')];
    writeFileSync(covered, JSON.stringify(coverage));
    writeFileSync(empty, JSON.stringify({ tests: {}, files: {} }));
    const chosen = ['--random', '2', '--file', file, '--seed', 'one'];
    const { said } = await start([], ...chosen, '--coverage', covered).ended;
    assert.match(said, /^2 of \d+ mutants, seed one\n\[1\/2\] (noticed|survived)/);
    assert.match(said, /\n2 mutants, \d unnoticed: /);
    const none = await start([], ...chosen, '--coverage', empty).ended;
    assert.equal(none.code, 1);
    assert.match(none.said, /no test {2}src\/access\/token\.ts:\d+ [\s\S]*2 mutants, 2 unnoticed: 0\.0 %/);
    assert.deepEqual(none.left, []);
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
