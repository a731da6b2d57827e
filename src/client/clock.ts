/** The client's clock, which tests can replace. */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs a function once, later; returns a function that cancels it. `keepAlive` timers keep the process running. */
  after(milliseconds: number, run: () => unknown, keepAlive: boolean): () => void;
}

/** Longer timers fire immediately. */
const longestTimer = 2 ** 31 - 1;

export const systemClock: Clock = {
  // A clock that is set back must not make values seem newer, and time during the machine's sleep must count.
  now: () => Math.max(Date.now(), performance.timeOrigin + performance.now()),
  after: (milliseconds, run, keepAlive) => {
    const timer: unknown = setTimeout(run, Math.min(milliseconds, longestTimer));
    if (!keepAlive) unref(timer);
    return () => clearTimeout(timer as number);
  },
};

/** Node and Bun have `unref` on the timer; Deno's timers are numbers. */
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
