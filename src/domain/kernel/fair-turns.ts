/**
 * Work that keeps an event loop busy, such as opening the secrets of a whole vault, is done in short turns, one at a
 * time. Organizations and callers come in turn, whatever each of them asks for, and after each turn everything else
 * in this thread gets as much time as the turn took, if it has anything to do. A caller has a few such pieces of work under
 * way at most: the others of theirs wait without holding anything.
 */
import { performance } from 'node:perf_hooks';
import { setImmediate as immediate } from 'node:timers/promises';
import { FairLine, type Lane } from '../../base/fair-line.ts';

/** In milliseconds. */
const longestTurn = 2;
/** A turn of the event loop in which nothing else had anything to do takes less, in milliseconds. */
const idleTurn = 0.2;
/** Of one caller, at once. */
const mostUnderWay = 4;

/** One piece of work, in turns. */
export interface Work {
  /** Before more is done than a turn allows. Waits for the next turn only where this one is over. */
  pause(): Promise<void> | undefined;
  /** After waiting for something else: the turn that was before is over. */
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

  /** What has begun goes on before the same caller's next piece begins. */
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
