/**
 * The processor time of a test run, in seconds: of the processes that take its files, of what they start (commands and
 * services in processes of their own, Chromium), and of PostgreSQL's processes, which name the database that they
 * serve. Only Linux tells; elsewhere nothing is recorded.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** The file that the run writes at its end: how much processor time each database took. */
export const timesVariable = 'STRONGROOM_TEST_TIMES';

export interface Times {
  /** The process that runs the tests, with the services in it. */
  readonly own: number;
  /** The processes that the tests started, but for the browser. */
  readonly children: number;
  readonly chromium: number;
}

/** In ticks a second: Linux has no other for what it tells programs. */
const ticks = 100;

interface Stat {
  readonly parent: number;
  readonly name: string;
  /** Of the process alone, in seconds. */
  readonly self: number;
  /** Of its children that have ended, and of theirs. */
  readonly ended: number;
}

function statOf(pid: number | 'self'): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const end = text.lastIndexOf(')');
    const fields = text.slice(end + 2).split(' ');
    const sum = (at: number) => (Number(fields[at]) + Number(fields[at + 1])) / ticks;
    const name = text.slice(text.indexOf('(') + 1, end);
    return { parent: Number(fields[1]), name, self: sum(11), ended: sum(13) };
  } catch {
    return null; // It has ended, or this is another system.
  }
}

function allStats(): Map<number, Stat> {
  const found = new Map<number, Stat>();
  for (const entry of readdirSync('/proc')) {
    const stat = /^\d+$/.test(entry) ? statOf(Number(entry)) : null;
    if (stat !== null) found.set(Number(entry), stat);
  }
  return found;
}

/** All that this process and its descendants have taken until now; null where the system does not tell. */
export function timesUntilNow(): Times | null {
  const own = statOf('self');
  if (own === null) return null;
  const stats = allStats();
  const times = { own: own.self, children: own.ended, chromium: 0 };
  for (const [pid, stat] of stats) {
    if (!descendsFrom(process.pid, pid, stats)) continue;
    times[stat.name.startsWith('chrom') ? 'chromium' : 'children'] += stat.self + stat.ended;
  }
  return times;
}

function descendsFrom(ancestor: number, pid: number, stats: ReadonlyMap<number, Stat>): boolean {
  let at = stats.get(pid)?.parent;
  while (at !== undefined && at > 1 && at !== ancestor) at = stats.get(at)?.parent;
  return at === ancestor;
}

/** What passed between two moments. */
export function between(before: Times | null, after: Times | null): Times | null {
  if (before === null || after === null) return null;
  const passed = (kind: keyof Times) => Math.max(0, Math.round((after[kind] - before[kind]) * 10) / 10);
  return { own: passed('own'), children: passed('children'), chromium: passed('chromium') };
}

/** The processor time of all ended children of this process, in seconds. */
export function endedChildren(): number {
  return statOf('self')?.ended ?? 0;
}

/**
 * Follows the processes of a database server: how much each had taken when it was last seen, by the name of its database.
 * Only its own children are looked at: this goes on during the whole run.
 */
export function followBackends(postmaster: number): { readonly stop: () => Record<string, number> } {
  const seen = new Map<number, { readonly database: string; seconds: number }>();
  const look = () => {
    for (const pid of childrenOf(postmaster)) {
      const seconds = statOf(pid)?.self;
      if (seconds === undefined) continue;
      seen.set(pid, { database: seen.get(pid)?.database || databaseOf(pid), seconds });
    }
  };
  const timer = setInterval(look, 500).unref();
  return {
    stop: () => {
      clearInterval(timer);
      look();
      const byDatabase: Record<string, number> = {};
      for (const { database, seconds } of seen.values())
        byDatabase[database] = (byDatabase[database] ?? 0) + seconds;
      return byDatabase;
    },
  };
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number);
  } catch {
    return []; // This kernel does not tell.
  }
}

/** `postgres: postgres test_17_… 127.0.0.1(4711) idle`: the process that made the database is in its name. */
function databaseOf(pid: number): string {
  try {
    const title = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
    return /^postgres: \S+ (\S+) /.exec(title)?.[1] ?? '';
  } catch {
    return '';
  }
}
