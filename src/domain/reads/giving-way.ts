/**
 * To make an answer takes a hundred times what it takes to hand out one that is kept. Those who need a new one begin
 * one after the other, and after each the others of this thread get as much time as it took, if they have
 * anything to do.
 */
import { performance } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';

/** A turn of the event loop in which nobody had anything to do takes less, in milliseconds. */
const idleTurn = 0.2;

export class GivingWay {
  #line: Promise<void> = Promise.resolve();

  async begin<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#line;
    const gate = Promise.withResolvers<void>();
    this.#line = gate.promise;
    await before;
    letOthers().then(gate.resolve);
    return work();
  }
}

async function letOthers(): Promise<void> {
  const began = performance.now();
  await turn();
  const taken = performance.now() - began;
  for (let last = performance.now(); last - began < 2 * taken; ) {
    await turn();
    const now = performance.now();
    if (now - last < idleTurn) return;
    last = now;
  }
}
