/**
 * Returns memory that only the start of a thread needed, about a third of the total, which the runtime would otherwise
 * keep. A collection pauses the thread for tens of milliseconds, so it waits for a second with little load.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';

const lookEvery = 1_000;
const quiet = 0.05;

type Collect = (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

export async function giveBackSpareMemory(): Promise<void> {
  for (let busy = 1; busy > quiet; ) {
    const before = performance.eventLoopUtilization();
    await sleep(lookEvery, undefined, { ref: false });
    busy = performance.eventLoopUtilization(before).utilization;
  }
  const collect: Collect = runInNewContext('gc'); // New contexts have it because `bin/strongroom.js` exposes it.
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
