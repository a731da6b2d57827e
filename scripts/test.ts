/**
 * Runs every test, or the named files, in a few processes that each take one file after another. A file that fails is
 * run again alone, in its own process, with no other load: only if it fails again does it count as a failure; otherwise
 * it is reported as unsteady and should be fixed. If the machine stalls for seconds, the service's own time limits
 * apply, as they should, which says nothing about the code. At the end it prints the files that took the most processor
 * time. `--record` stores what each file took in test/durations.json, by which the next run orders them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { endedChildren, timesVariable } from '../test/processor-time.ts';
import { hasEnded, longestFile, makeQueue, timesOfFiles, unfinished } from '../test/queue.ts';
import { readSeconds, record, recordedTimes, showTimes, timesOf } from './test-times.ts';

/** If more files fail than this, the machine is not the cause. */
const mostUnsteady = 20;
const processes = 4;
const longestRun = 75 * 60_000;
/** In seconds, for a file without a recorded duration. */
const unknownLength = 20;

const folder = mkdtempSync(join(tmpdir(), 'strongroom-tests-'));
const backendTimes = join(folder, 'backends.json');
const records = process.argv.includes('--record');
try {
  process.exitCode = await testAll(process.argv.slice(2).filter(name => name !== '--record'));
} finally {
  rmSync(folder, { recursive: true });
}

async function testAll(named: readonly string[]): Promise<number> {
  const files = named.length > 0 ? named : globSync('test/**/*.test.ts');
  const first = await runQueued(longestFirst(files));
  const mayBeUnsteady = !first.isBroken && first.failed.length > 0 && first.failed.length <= mostUnsteady;
  if (first.code === 0 || !mayBeUnsteady) return first.code;
  console.log(`\nFailed with other tests, and run again alone:\n${listed(first.failed)}\n`);
  const second = await run(first.failed, 1, longestFile);
  const unsteady = first.failed.filter(file => !second.failed.includes(file));
  if (second.code === 0)
    console.log(`\nUnsteady: failed with other tests, passed alone:\n${listed(unsteady)}`);
  return second.code;
}

/** Long files come first, because at the end they would run while the other processes are idle. */
function longestFirst(files: readonly string[]): string[] {
  const length = (file: string) => recordedTimes[relative(process.cwd(), file)]?.seconds ?? unknownLength;
  return files.map(file => resolve(file)).sort((a, b) => length(b) - length(a));
}

interface Run {
  readonly code: number;
  readonly failed: readonly string[];
}

interface QueuedRun extends Run {
  /** Set if a process failed although none of its files did, for example because it left something open. */
  readonly isBroken: boolean;
}

async function runQueued(files: readonly string[]): Promise<QueuedRun> {
  const programs = makeQueue(folder, files, Math.min(processes, files.length));
  const { code, failed } = await run(programs, processes, longestRun);
  const times = timesOfRun(files);
  showTimes(times, endedChildren());
  if (records) record(times);
  const lost = unfinished(folder);
  const all = new Set([...failed.filter(file => dirname(file) !== folder), ...lost]);
  const isBroken = programs.some(program => failed.includes(program) && hasEnded(program));
  return { code: lost.length > 0 ? code || 1 : code, failed: [...all], isBroken };
}

function timesOfRun(files: readonly string[]) {
  const names = files.map(file => relative(process.cwd(), file));
  const backends = existsSync(backendTimes) ? JSON.parse(readFileSync(backendTimes, 'utf8')) : {};
  return timesOf(names, readSeconds(secondsOf(processes)), timesOfFiles(folder), backends);
}

async function run(files: readonly string[], atOnce: number, longest: number): Promise<Run> {
  const failures = join(folder, `failed-of-${atOnce}`);
  const reporters = [
    ['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ['--test-reporter=./test/failed-files.ts', `--test-reporter-destination=${failures}`],
    ['--test-reporter=./test/file-times.ts', `--test-reporter-destination=${secondsOf(atOnce)}`],
  ].flat();
  const limits = [`--test-concurrency=${atOnce}`, `--test-timeout=${longest}`];
  const args = ['--test', ...limits, '--test-global-setup=test/postgres.ts', ...reporters, ...files];
  const env = { ...process.env, [timesVariable]: backendTimes };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(child, 'exit');
  return { code: code ?? 1, failed: readFileSync(failures, 'utf8').split('\n').filter(Boolean) };
}

function secondsOf(atOnce: number): string {
  return join(folder, `seconds-of-${atOnce}`);
}

function listed(files: readonly string[]): string {
  return files.map(file => `  ${relative(process.cwd(), file)}`).join('\n');
}
