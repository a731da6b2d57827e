/**
 * Background work that no request waits for. Repeated work runs in small steps, continues while there is more to do,
 * and never overlaps itself. Failures are reported and don't stop the work. `stop` waits for work in progress.
 */
import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves to true if there is more to do. */
type Step = () => Promise<unknown>;

const betweenSteps = 50;

export class Chores {
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Repeats the step, beginning after the given time. */
  every(milliseconds: number, step: Step): this {
    this.#keep(this.#loop(milliseconds, step));
    return this;
  }

  /** Starts the work immediately, unless the service is stopping. */
  once(work: () => Promise<void>): void {
    if (!this.#stopping.signal.aborted) this.#keep(work().catch(this.#onError));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  #keep(work: Promise<void>): void {
    const kept = work.finally(() => this.#running.delete(kept));
    this.#running.add(kept);
  }

  async #loop(milliseconds: number, step: Step): Promise<void> {
    const { signal } = this.#stopping;
    let pause = milliseconds;
    while (!signal.aborted) {
      await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      const more = await step().catch(error => void this.#onError(error));
      pause = more === true ? betweenSteps : milliseconds;
    }
  }
}
