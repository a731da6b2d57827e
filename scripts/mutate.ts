/**
 * Breaks guards, one at a time, in a copy of the checkout, and runs the tests that should notice. The listed guards:
 * `npm run mutate [-- --only ID,… --file PATH --list --unbroken]`; a random sample of all mutants:
 * `npm run mutate -- --random N [--room R --kind K --seed S --record --tests T,…]`; or every limit in test/bounds.json, raised:
 * `--bounds`, also with `--only` and `--file`. Exits with 1 if a broken guard was not noticed, a run took too long, or an
 * entry does not apply. A test that fails anyway proves nothing: `--unbroken` runs the same tests with every guard in
 * place. The checkout itself is never changed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import {
  type Cluster,
  dropDatabases,
  makeTemplate,
  startCluster,
  templateVariable,
  variable,
} from '../test/postgres.ts';
import { makeQueue } from '../test/queue.ts';
import { allBounds, loadTable, loosened } from './bounds.ts';
import { allTests, coverageFile, loadCoverage, recordCoverage } from './coverage.ts';
import {
  applied,
  changesOf,
  faultsOf,
  listFolder,
  loadMutations,
  type Mutation,
  root,
  testPath,
} from './mutations.ts';
import { sample, scoreOf } from './random-mutants.ts';
import { needsNothing } from './test-imports.ts';

type Verdict = 'noticed' | 'survived' | 'no answer';

/** The words for a verdict if nothing was broken. */
const unbrokenWords = { noticed: 'red', survived: 'green', 'no answer': 'no answer' };
const longest = 300_000;
const workers = 2;
const left = new Set(['node_modules', '.git', 'data', 'dist', 'coverage']);

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    file: { type: 'string' },
    list: { type: 'boolean', default: false },
    unbroken: { type: 'boolean', default: false },
    /** Another folder of lists. */
    from: { type: 'string', default: listFolder },
    /** Raises every limit that has a test. */
    bounds: { type: 'boolean', default: false },
    /** The number of mutants to sample from all sources, or from one room. */
    random: { type: 'string' },
    room: { type: 'string' },
    /** Such as `refusal`: a statement that only checks, and is left out. */
    kind: { type: 'string' },
    /** The same seed chooses the same mutants from the same sources. */
    seed: { type: 'string' },
    /** First record again which tests run which lines. */
    record: { type: 'boolean', default: false },
    coverage: { type: 'string', default: coverageFile },
    /** Only these tests, whichever tests run the line. */
    tests: { type: 'string' },
  },
});

const running = new Set<ChildProcess>();
let cluster: Cluster | undefined;
let scratch: string | undefined;
let isOver = false;

function chosen(mutations: readonly Mutation[]): readonly Mutation[] {
  const ids = values.only?.split(',');
  const unknown = ids?.filter(id => !mutations.some(mutation => mutation.id === id)) ?? [];
  if (unknown.length > 0) throw new Error(`not in the list: ${unknown.join(', ')}`);
  return mutations
    .filter(({ id }) => ids?.includes(id) ?? true)
    .filter(mutation => changesOf(mutation).some(({ file }) => file === (values.file ?? file)));
}

/** A copy of the checkout, with a folder for the files of its tests. */
function copyCheckout(folder: string): string {
  const copy = join(folder, 'checkout');
  mkdirSync(join(folder, 'tmp'), { recursive: true, mode: 0o755 });
  cpSync(root, copy, { recursive: true, filter: path => !left.has(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

function end(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal);
  } catch {
    // It has already ended.
  }
}

interface Checkout {
  readonly copy: string;
  /** For the files of its tests. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Pure tests come first, because they take a second; then the others. */
async function judge(mutation: Mutation, checkout: Checkout): Promise<Verdict> {
  const { pattern, tests } = mutation;
  const narrowed = pattern === undefined ? [] : [`--test-name-pattern=${pattern}`];
  const quick = tests.filter(needsNothing);
  const others = tests.filter(test => !needsNothing(test));
  if (quick.length > 0) {
    const verdict = await runTests(checkout, [...narrowed, ...programsOf(quick, mutation, checkout)]);
    if (verdict !== 'survived' || others.length === 0) return verdict;
  }
  const setup = '--test-global-setup=test/postgres.ts';
  return runTests(checkout, [...narrowed, setup, ...programsOf(others, mutation, checkout)]);
}

/** The test files; several of them form one program, which runs them in order, each with its own hooks. */
function programsOf(
  tests: readonly string[],
  { pattern }: Mutation,
  { copy, folder }: Checkout,
): readonly string[] {
  if (pattern !== undefined || tests.length === 1) return tests.map(testPath);
  const files = tests.map(name => join(copy, testPath(name)));
  const own = mkdtempSync(join(folder, 'queue-'));
  return makeQueue(own, files, 1, pathToFileURL(join(copy, 'test/queue.ts')).href);
}

/** Whether a test fails; the first failure is enough. */
function runTests({ copy, env }: Checkout, args: readonly string[]): Promise<Verdict> {
  const fixed = ['--test-reporter=tap', '--test-concurrency=1', `--test-timeout=${longest}`];
  const child = spawn(process.execPath, ['--test', ...fixed, ...args], {
    cwd: copy,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  running.add(child);
  return new Promise(resolve => {
    let verdict: Verdict | undefined;
    let line = '';
    const stop = (reached: Verdict) => {
      verdict ??= reached;
      end(child, 'SIGTERM');
      setTimeout(end, 3_000, child, 'SIGKILL').unref();
    };
    const timer = setTimeout(stop, longest, 'no answer');
    child.stdout.setEncoding('utf8').on('data', text => {
      const lines = (line + text).split('\n');
      line = lines.pop()!;
      if (lines.some(one => /^\s*not ok /.test(one))) stop('noticed');
    });
    child.once('close', code => {
      clearTimeout(timer);
      end(child, 'SIGKILL'); // Ends processes that it left behind.
      running.delete(child);
      resolve(verdict ?? (code === 0 ? 'survived' : 'no answer'));
    });
  });
}

async function work(
  name: string,
  take: () => Mutation | undefined,
  tell: (one: Mutation, is: Verdict) => void,
) {
  const folder = join(scratch!, name);
  const copy = copyCheckout(folder);
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...inherited } = process.env;
  const own = { TMPDIR: join(folder, 'tmp'), STRONGROOM_TEST_DATABASES: `${name}_${process.pid}` };
  const { [templateVariable]: ___, ...withoutTemplate } = inherited;
  const url = process.env[variable]!;
  for (let mutation = take(); mutation !== undefined && !isOver; mutation = take()) {
    const texts = values.unbroken ? [] : applied(mutation, copy);
    for (const [file, { after }] of texts) writeFileSync(join(copy, file), after);
    const makesTables = changesOf(mutation).some(({ file }) => file.startsWith('src/store/'));
    const env = { ...(makesTables ? withoutTemplate : inherited), ...own };
    const verdict = await judge(mutation, { copy, folder: own.TMPDIR, env });
    for (const [file, { before }] of texts) writeFileSync(join(copy, file), before);
    if (isOver) return;
    tell(mutation, verdict);
    await dropDatabases(url, own.STRONGROOM_TEST_DATABASES);
    rmSync(own.TMPDIR, { recursive: true, force: true });
    mkdirSync(own.TMPDIR, { mode: 0o755 });
  }
}

async function cleanUp(): Promise<void> {
  isOver = true;
  for (const child of running) end(child, 'SIGKILL');
  await cluster?.stop();
  if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
}

function describe({ id, file, guards }: Mutation): string {
  return `${id}  ${guards}  (${file})`;
}

/** A listed guard requires a failing test. For a random mutant, a run that never ends also counts as noticed. */
function isMissed(verdict: Verdict): boolean {
  if (values.unbroken) return verdict !== 'survived';
  return values.random === undefined ? verdict !== 'noticed' : verdict === 'survived';
}

/** One database server for every run. */
async function ensureCluster(): Promise<void> {
  if (process.env[variable] !== undefined) return;
  cluster = await startCluster();
  process.env[variable] = cluster.url;
  await makeTemplate();
}

async function breakAll(mutations: readonly Mutation[]): Promise<Mutation[]> {
  scratch = mkdtempSync(join(tmpdir(), 'strongroom-mutate-'));
  chmodSync(scratch, 0o755); // The database server runs as another user.
  await ensureCluster();
  const queue = [...mutations];
  const missed: Mutation[] = [];
  let done = 0;
  const tell = (mutation: Mutation, verdict: Verdict) => {
    if (isMissed(verdict)) missed.push(mutation);
    const word = values.unbroken ? unbrokenWords[verdict] : verdict;
    console.log(`[${++done}/${mutations.length}] ${word.padEnd(9)} ${describe(mutation)}`);
  };
  const names = Array.from({ length: Math.min(workers, queue.length) }, (_, index) => `worker${index}`);
  await Promise.all(names.map(name => work(name, () => queue.shift(), tell)));
  return missed;
}

/** One run for each selection of tests. */
function distinctTests(mutations: readonly Mutation[]): Mutation[] {
  const byTests = new Map(mutations.map(one => [JSON.stringify([one.tests, one.pattern]), one]));
  return [...byTests.values()];
}

/** Breaks a sample of all mutants, and reports how many the tests notice. */
async function breakRandomly(count: number): Promise<number> {
  const { record, coverage: path, room, kind, file, seed = String(Date.now()) } = values;
  const tests = values.tests?.split(',');
  if (record) await ensureCluster();
  const recorded = record ? await recordCoverage(path, tests ?? allTests(), workers) : loadCoverage(path);
  const coverage = tests === undefined || record ? recorded : { tests: {}, files: {} };
  if (coverage === null) throw new Error('the coverage of the tests is not recorded yet: add --record');
  const { chosen, uncovered, total } = sample({ count, room, kind, file, seed, coverage, tests });
  console.log(`${chosen.length + uncovered.length} of ${total} mutants, seed ${seed}`);
  for (const mutation of uncovered) console.log(`no test  ${describe(mutation)}`);
  const missed = [...uncovered, ...(await breakAll(chosen))];
  console.log(`\n${scoreOf(chosen.length + uncovered.length, missed.length)}`);
  for (const mutation of missed) console.log(describe(mutation));
  return missed.length === 0 ? 0 : 1;
}

async function main(): Promise<number> {
  if (values.random !== undefined) return breakRandomly(Number(values.random));
  const mutations = chosen(values.bounds ? loosened(loadTable(), allBounds()) : loadMutations(values.from));
  if (values.list) {
    for (const mutation of mutations) console.log(describe(mutation));
    return 0;
  }
  const faults = faultsOf(mutations);
  if (faults.length > 0) {
    console.error(`These entries do not apply to the current code:\n${faults.join('\n')}`);
    return 1;
  }
  const missed = await breakAll(values.unbroken ? distinctTests(mutations) : mutations);
  const summary = values.unbroken ? 'red with every guard in place' : 'unnoticed';
  console.log(
    `\n${mutations.length} guards ${values.unbroken ? 'kept' : 'broken'}, ${missed.length} ${summary}`,
  );
  for (const mutation of missed) console.log(describe(mutation));
  return missed.length === 0 ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => cleanUp().finally(() => process.exit(130)));
}
try {
  process.exitCode = await main();
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  if (!isOver) await cleanUp();
}
