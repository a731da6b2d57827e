/**
 * Gives back what only the start of a thread needed: a third of its memory, which the runtime would keep for later.
 * A collection stops the thread for some tens of milliseconds, so it waits for a second in which nobody asked for much.
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
  const collect: Collect = runInNewContext('gc'); // Each new context has it where `bin/strongroom.js` asked for it.
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
