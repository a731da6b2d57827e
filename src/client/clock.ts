/** Time as the client uses it; tests hand in their own. */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs something once, later; returns what cancels it. Only a timer that is awaited keeps a process alive. */
  after(milliseconds: number, run: () => unknown, keepAlive: boolean): () => void;
}

/** Longer ones fire at once. */
const longestTimer = 2 ** 31 - 1;

export const systemClock: Clock = {
  // A clock that is set back must not make values young again; one that sleeps with the machine goes on after it.
  now: () => Math.max(Date.now(), performance.timeOrigin + performance.now()),
  after: (milliseconds, run, keepAlive) => {
    const timer: unknown = setTimeout(run, Math.min(milliseconds, longestTimer));
    if (!keepAlive) unref(timer);
    return () => clearTimeout(timer as number);
  },
};

/** Node and Bun have it at the timer; Deno's timers are numbers. */
function unref(timer: unknown): void {
  (timer as { unref?(): void }).unref?.();
  if (typeof timer === 'number') {
    (globalThis as { Deno?: { unrefTimer?(id: number): void } }).Deno?.unrefTimer?.(timer);
  }
}

export function sleep(clock: Clock, milliseconds: number): Promise<void> {
  return new Promise(resolve => {
    clock.after(milliseconds, resolve, true);
  });
}
