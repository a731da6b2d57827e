/**
 * Measures how long a service takes to be ready on an empty folder, and its idle memory, in turns with an earlier
 * commit. `npm run bench:start -- COMMIT` prints medians and their ratios.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, table } from './bench.ts';
import { checkOut, commandIn, here } from './checkout.ts';

const turns = 7;
const untilIdle = 4_000;

interface Start {
  /** In milliseconds. */
  readonly ready: number;
  /** Processor time until then, in milliseconds. */
  readonly work: number;
  /** Resident memory, in MB. */
  readonly memory: number;
}

async function started(checkout: string, data: string): Promise<Start> {
  const from = performance.now();
  const server = await startServer(['--data', data], commandIn(checkout), 'any');
  await fetch(`http://127.0.0.1:${server.port}/readyz`);
  const [ready, work] = [performance.now() - from, server.processorTime()];
  await sleep(untilIdle);
  const memory = server.memory();
  await server.stop();
  return { ready, work, memory };
}

function median(all: readonly Start[], of: keyof Start): number {
  return all.map(one => one[of]).sort((x, y) => x - y)[all.length >> 1]!;
}

const lines = {
  ready: 'ready after, ms',
  work: 'processor time until then, ms',
  memory: 'idle, MB',
} as const;
export const startHeads = ['start', 'before', 'after', 'after/before'];

export async function startRows(earlier: string, folder: string): Promise<(string | number)[][]> {
  const starts: Record<'before' | 'after', Start[]> = { before: [], after: [] };
  for (let turn = -1; turn < turns; turn++) {
    const before = await started(earlier, join(folder, `before ${turn}`));
    const after = await started(here, join(folder, `after ${turn}`));
    if (turn < 0) continue; // The first turns fill the compile cache.
    starts.before.push(before);
    starts.after.push(after);
  }
  return (Object.keys(lines) as (keyof Start)[]).map(of => {
    const [before, after] = [median(starts.before, of), median(starts.after, of)];
    return [lines[of], Math.round(before), Math.round(after), (after / before).toFixed(2)];
  });
}

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'));
  const earlier = checkOut(process.argv[2] ?? 'HEAD~1', folder);
  process.stdout.write(`${table(startHeads, await startRows(earlier.path, folder))}\n`);
  earlier.remove();
  rmSync(folder, { recursive: true, force: true });
}
