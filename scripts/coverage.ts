/**
 * Records which test file runs which lines of the sources, by running every test file in its own processes, and keeps
 * the result in coverage/lines.json. `npm run mutate -- --random` uses it to find the tests that could notice a change.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { enginesVariable } from '../test/engines.ts';
import { dropDatabases, variable } from '../test/postgres.ts';
import { root } from './mutations.ts';

export interface TestRun {
  readonly seconds: number;
  readonly passed: boolean;
}

export interface CoveredFile {
  /** The digest of the text to which the line numbers refer. */
  readonly digest: string;
  /** The lines that each test runs. */
  readonly lines: Readonly<Record<string, readonly number[]>>;
}

export interface Coverage {
  readonly tests: Readonly<Record<string, TestRun>>;
  readonly files: Readonly<Record<string, CoveredFile>>;
}

export const coverageFile = join(root, 'coverage/lines.json');

/** The last recording, or null. */
export function loadCoverage(path: string): Coverage | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Coverage;
  } catch {
    return null;
  }
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The tests that run a line; if the file has changed since, those that run any of its lines. */
export function testsOfLine({ tests, files }: Coverage, file: string, line: number, text: string): string[] {
  const covered = files[file];
  if (covered === undefined) return [];
  const isSame = covered.digest === digestOf(text);
  return Object.entries(covered.lines)
    .filter(([test, lines]) => tests[test]!.passed && (!isSame || lines.includes(line)))
    .map(([test]) => test);
}

/** Runs these test files, each separately, with a running database server, and stores their coverage. */
export async function recordCoverage(
  path: string,
  names: readonly string[],
  atOnce: number,
): Promise<Coverage> {
  const tests: Record<string, TestRun> = { ...loadCoverage(path)?.tests };
  const lines = new Map<string, Map<string, Set<number>>>();
  const queue = [...names];
  const record = async (name: string, databases: string) => {
    const { run, covered } = await runCovered(name, databases);
    await dropDatabases(process.env[variable]!, databases);
    tests[name] = run;
    for (const [file, found] of covered) lines.set(file, (lines.get(file) ?? new Map()).set(name, found));
    console.log(`${run.passed ? 'covered' : 'FAILED '}  ${name}  ${run.seconds} s  (${queue.length} to go)`);
    keep(path, tests, lines);
  };
  const work = async (worker: number) => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      await record(name, `covered${worker}_${process.pid}`);
    }
  };
  // The first one bundles the command that the others start.
  const first = queue.shift();
  if (first !== undefined) await record(first, `covered_${process.pid}`);
  await Promise.all(Array.from({ length: atOnce }, (_, worker) => work(worker)));
  return loadCoverage(path)!;
}

function keep(
  path: string,
  tests: Record<string, TestRun>,
  lines: Map<string, Map<string, Set<number>>>,
): void {
  const before = loadCoverage(path)?.files ?? {};
  const files: Record<string, CoveredFile> = {};
  for (const file of new Set([...Object.keys(before), ...lines.keys()])) {
    const digest = digestOf(textOf(file));
    const kept = before[file]?.digest === digest ? before[file].lines : {};
    const merged: [string, readonly number[]][] = Object.entries(kept);
    for (const [test, found] of lines.get(file) ?? []) merged.push([test, [...found].sort((a, b) => a - b)]);
    files[file] = { digest, lines: Object.fromEntries(merged) };
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, JSON.stringify({ tests, files }));
  renameSync(`${path}.new`, path);
}

function textOf(file: string): string {
  try {
    return readFileSync(join(root, file), 'utf8');
  } catch {
    return ''; // Removed since.
  }
}

type Covered = Map<string, Set<number>>;

async function runCovered(name: string, databases: string): Promise<{ run: TestRun; covered: Covered }> {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-coverage-'));
  const begun = performance.now();
  try {
    const args = [
      '--test',
      '--test-concurrency=1',
      '--test-global-setup=test/postgres.ts',
      `test/${name}.test.ts`,
    ];
    const child = spawn(process.execPath, args, {
      cwd: root,
      stdio: 'ignore',
      env: {
        ...process.env,
        NODE_V8_COVERAGE: folder,
        NODE_DISABLE_COMPILE_CACHE: '1',
        [enginesVariable]: 'both',
        STRONGROOM_TEST_DATABASES: databases,
      },
    });
    const [code] = await once(child, 'exit');
    const seconds = Math.round((performance.now() - begun) / 100) / 10;
    // The runner's own process prepares databases with the product's code, which is not a test.
    const written = readdirSync(folder).filter(file => !file.startsWith(`coverage-${child.pid}-`));
    return {
      run: { seconds, passed: code === 0 },
      covered: coveredBy(written.map(file => join(folder, file))),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly {
      readonly startOffset: number;
      readonly endOffset: number;
      readonly count: number;
    }[];
  }[];
}

interface Written {
  readonly result: readonly Script[];
  readonly 'source-map-cache'?: Readonly<
    Record<string, { readonly data: SourceMapPayload | null; readonly lineLengths: readonly number[] }>
  >;
}

function coveredBy(paths: readonly string[]): Covered {
  const covered: Covered = new Map();
  for (const path of paths) {
    const { result, 'source-map-cache': maps = {} } = written(path);
    for (const script of result) {
      const file = fileOf(script.url);
      const map = maps[script.url];
      if (map?.data) addMapped(covered, script, map.data, map.lineLengths);
      else if (file?.startsWith('src/')) addLines(covered, file, script);
    }
  }
  return covered;
}

/** A process that was killed while writing has no usable coverage. */
function written(path: string): Written {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Written;
  } catch {
    return { result: [] };
  }
}

/** The path relative to the checkout, or null for a file outside of it. */
function fileOf(url: string): string | null {
  if (!url.startsWith('file:')) return null;
  const file = relative(root, fileURLToPath(url));
  return file.startsWith('..') ? null : file;
}

/** Whether each character ran: inner ranges override outer ones. */
function painted({ functions }: Script, length: number): Uint8Array {
  const ran = new Uint8Array(length);
  const ranges = functions.flatMap(one => one.ranges);
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  for (const { startOffset, endOffset, count } of ranges) ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  return ran;
}

function addLines(covered: Covered, file: string, script: Script): void {
  const text = textOf(file);
  const ran = painted(script, text.length);
  const found = covered.get(file) ?? new Set<number>();
  let at = 0;
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() !== '' && ran[at + line.search(/\S/)]) found.add(index + 1);
    at += line.length + 1;
  }
  covered.set(file, found);
}

/** The origin of a bundle's characters. All processes of a run have the same bundle, so it is read once. */
const origins = new Map<
  string,
  readonly { readonly at: number; readonly file: string; readonly line: number }[]
>();

function originsOf(url: string, data: SourceMapPayload, lengths: readonly number[]) {
  const known = origins.get(url);
  if (known !== undefined) return known;
  const map = new SourceMap(data);
  const found = [];
  let at = 0;
  for (const [line, length] of lengths.entries()) {
    for (let column = 0; column < length; column += 1) {
      const entry = map.findEntry(line, column);
      if (!('originalSource' in entry) || entry.generatedLine !== line || entry.generatedColumn !== column)
        continue;
      const [, file] = /(?:^|\/)(src\/.*\.ts)$/.exec(entry.originalSource) ?? [];
      if (file !== undefined) found.push({ at: at + column, file, line: entry.originalLine + 1 });
    }
    at += length + 1;
  }
  origins.set(url, found);
  return found;
}

function addMapped(
  covered: Covered,
  script: Script,
  data: SourceMapPayload,
  lengths: readonly number[],
): void {
  const ran = painted(
    script,
    lengths.reduce((sum, length) => sum + length + 1, 0),
  );
  for (const { at, file, line } of originsOf(script.url, data, lengths)) {
    if (ran[at]) covered.set(file, (covered.get(file) ?? new Set()).add(line));
  }
}

/** Every test file, by its name in the list of guards. */
export function allTests(): string[] {
  return globSync('test/**/*.test.ts', { cwd: root })
    .map(file => relative('test', file).slice(0, -'.test.ts'.length))
    .filter(name => basename(name) !== 'mutate')
    .sort();
}
