/**
 * Returns memory that only the start of a thread needed, about a third of the total, which the runtime would otherwise
 * keep. A collection pauses the thread for tens of milliseconds, so it waits for a second with little load.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const lookEvery = 1_000;
const quiet = 0.05;

type Collect = (how?: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

export async function giveBackSpareMemory(): Promise<void> {
  for (let collect: Collect | undefined; collect === undefined; ) {
    const before = performance.eventLoopUtilization();
    await sleep(lookEvery, undefined, { ref: false });
    const { utilization } = performance.eventLoopUtilization(before);
    if (utilization <= quiet) collect = garbageCollector();
    collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }
}

/**
 * The runtime's collector, which a new context has while the flag is set. Code that was compiled under other flags is not
 * used, the runtime's own included, which would cost each start a fifth of its time: so the flag does not stay set.
 * Undefined if another thread removed the flag, which is one for the whole process, at the same moment.
 */
export function garbageCollector(): Collect | undefined {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('globalThis.gc');
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
