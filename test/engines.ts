/**
 * Which engines a suite runs on. What is near the store runs on both, always. What only uses it runs on one of them, by
 * turns of the commit and of the file, so that a run takes half the time and both are tried again and again;
 * STRONGROOM_TEST_ENGINES chooses `both`, `sqlite` or `postgres` for all of these.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

export const engines = ['sqlite', 'postgres'] as const;
export type EngineName = (typeof engines)[number];

export const enginesVariable = 'STRONGROOM_TEST_ENGINES';

/** For the suites of a file: its URL, or another text that is the same in every run. */
export function enginesInTurn(key: string): readonly EngineName[] {
  const chosen = process.env[enginesVariable] ?? 'turn';
  if (chosen === 'both') return engines;
  if (chosen !== 'turn') return [engineNamed(chosen)];
  const commit = commitOf();
  return commit === null ? engines : [engines[turnOf(commit, key.replace(/^.*\//, ''))]!];
}

/** Evenly over files, and the other one for about half of the commits. */
export function turnOf(commit: string, key: string): number {
  return createHash('sha256').update(`${commit} ${key}`).digest()[0]! % engines.length;
}

function engineNamed(name: string): EngineName {
  const found = engines.find(engine => engine === name);
  if (found === undefined) throw new Error(`${enginesVariable} must be both, ${engines.join(' or ')}`);
  return found;
}

let known: string | null | undefined;

/** Null outside of a repository: then there are no turns. */
function commitOf(): string | null {
  known ??= headOf();
  return known;
}

function headOf(): string | null {
  try {
    const folder = new URL('..', import.meta.url);
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim();
  } catch {
    return null;
  }
}
