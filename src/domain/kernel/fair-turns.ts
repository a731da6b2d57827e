/**
 * Runs work that would block the event loop, such as decrypting all secrets of a vault, in short turns, one at a
 * time. Turns alternate between organizations and between callers, whatever they ask for. After each turn, everything
 * else in this thread gets as much time as the turn took, if it has anything to do. A caller can have only a few such
 * jobs in progress; their other jobs wait without holding any resources.
 */
import { performance } from 'node:perf_hooks';
import { setImmediate as immediate } from 'node:timers/promises';
import { FairLine, type Lane } from '../../base/fair-line.ts';

/** In milliseconds. */
const longestTurn = 2;
/** In milliseconds. A turn of the event loop with nothing else to do takes less. */
const idleTurn = 0.2;
/** Jobs in progress at once, per caller. */
const mostUnderWay = 4;

export interface Work {
  /** Call it before more work than a turn allows. Waits for the next turn only if this one is over. */
  pause(): Promise<void> | undefined;
  /** Call it after waiting for something else, which ended the previous turn. */
  resume(): Promise<void>;
}

interface Caller {
  underWay: number;
  readonly waiting: (() => void)[];
}

export class TimedTurns {
  readonly #line = new FairLine<() => void>();
  readonly #callers = new Map<string, Caller>();
  #isTaken = false;

  async do<T>(lane: Lane, work: (turns: Work) => Promise<T>): Promise<T> {
    const leave = await this.#enter(lane.key);
    try {
      await this.#turn(lane, false);
      return await work(this.#work(lane));
    } finally {
      leave();
    }
  }

  #work(lane: Lane): Work {
    let end = performance.now() + longestTurn;
    const resume = async () => {
      await this.#turn(lane, true);
      end = performance.now() + longestTurn;
    };
    return { pause: () => (performance.now() < end ? undefined : resume()), resume };
  }

  /** A job in progress continues before the same caller's next job begins. */
  #turn(lane: Lane, hasBegun: boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#line.push(lane, resolve, hasBegun);
    if (!this.#isTaken) this.#next();
    return promise;
  }

  #next(): void {
    const begin = this.#line.shift();
    this.#isTaken = begin !== undefined;
    if (begin === undefined) return;
    letOthers().then(() => this.#next());
    begin();
  }

  async #enter(callerId: string): Promise<() => void> {
    const caller = this.#callers.get(callerId) ?? { underWay: 0, waiting: [] };
    this.#callers.set(callerId, caller);
    if (caller.underWay < mostUnderWay) caller.underWay++;
    else await new Promise<void>(resolve => caller.waiting.push(resolve));
    return () => {
      const next = caller.waiting.shift();
      if (next !== undefined) next();
      else if (--caller.underWay === 0) this.#callers.delete(callerId);
    };
  }
}

async function letOthers(): Promise<void> {
  const began = performance.now();
  await immediate();
  const taken = performance.now() - began;
  for (let last = performance.now(); last - began < 2 * taken; ) {
    await immediate();
    const now = performance.now();
    if (now - last < idleTurn) return;
    last = now;
  }
}
