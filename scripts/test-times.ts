/**
 * How long each test file took, and how much processor time, of which processes: shown after a run, and stored by
 * `node scripts/test.ts --record` in test/durations.json, a line for each file.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import recorded from '../test/durations.json' with { type: 'json' };
import type { Times } from '../test/processor-time.ts';

/** In seconds. `seconds` passed by the clock; the others are processor time, where it was recorded. */
export interface FileTimes extends Partial<Times> {
  readonly seconds: number;
  readonly postgres?: number;
}

export const recordedTimes: Readonly<Record<string, FileTimes>> = recorded;
const path = 'test/durations.json';
const kinds = ['own', 'children', 'chromium', 'postgres'] as const;

export function processorTime(times: FileTimes): number {
  return kinds.reduce((sum, kind) => sum + (times[kind] ?? 0), 0);
}

/**
 * The times of the files of a run. `databases` has the processor time of PostgreSQL by the names of the databases,
 * which contain the file's number (`test/queue.ts`).
 */
export function timesOf(
  files: readonly string[],
  seconds: ReadonlyMap<string, number>,
  taken: readonly (Times | null)[],
  databases: Readonly<Record<string, number>>,
): Record<string, FileTimes> {
  const postgres = files.map(() => 0);
  for (const [name, time] of Object.entries(databases)) {
    const [, at] = /_(\d+)_[0-9a-f]{32}$/.exec(name) ?? [];
    if (at !== undefined && Number(at) < files.length) postgres[Number(at)]! += time;
  }
  const times: Record<string, FileTimes> = {};
  for (const [at, file] of files.entries()) {
    const own = taken[at] ?? null;
    if (own === null) continue;
    times[file] = { seconds: seconds.get(file) ?? 0, ...own, postgres: rounded(postgres[at]!) };
  }
  return times;
}

export function showTimes(times: Readonly<Record<string, FileTimes>>, whole: number): void {
  const files = Object.entries(times).sort(([, a], [, b]) => processorTime(b) - processorTime(a));
  if (files.length < 2) return;
  const sum = (kind: (typeof kinds)[number]) =>
    files.reduce((total, [, time]) => total + (time[kind] ?? 0), 0).toFixed(0);
  console.log(
    `\nProcessor time: ${whole.toFixed(0)} s (${kinds.map(kind => `${kind} ${sum(kind)}`).join(', ')})`,
  );
  for (const [file, time] of files.slice(0, 10)) {
    const parts = kinds.filter(kind => time[kind]).map(kind => `${kind} ${time[kind]!.toFixed(1)}`);
    console.log(`  ${processorTime(time).toFixed(1).padStart(6)} s  ${file} (${parts.join(', ')})`);
  }
}

/** Stores the times of the files that ran, and removes deleted files. */
export function record(times: Readonly<Record<string, FileTimes>>): void {
  const lines = Object.entries({ ...recordedTimes, ...times })
    .filter(([file]) => existsSync(file))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([file, time]) => `  ${JSON.stringify(file)}: ${onOneLine(time)}`);
  writeFileSync(path, `{\n${lines.join(',\n')}\n}\n`);
}

function onOneLine(time: FileTimes): string {
  const fields = (['seconds', ...kinds] as const)
    .filter(name => time[name] !== undefined)
    .map(name => `"${name}": ${time[name]}`);
  return `{ ${fields.join(', ')} }`;
}

/** The lines of `test/file-times.ts`. */
export function readSeconds(file: string): Map<string, number> {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return new Map(
    lines.map(line => line.split('\t') as [string, string]).map(([name, s]) => [name, Number(s)]),
  );
}

function rounded(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}
