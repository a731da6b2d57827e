/** Work that repeats: each chore takes small steps, goes on while there is more, and never overlaps itself. */
import { setTimeout as sleep } from 'node:timers/promises';

/** True where more is left. */
type Step = () => Promise<boolean>;

const betweenSteps = 50;

export class Chores {
  readonly #stopping = new AbortController();
  readonly #loops: Promise<void>[] = [];
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  every(milliseconds: number, step: Step): this {
    this.#loops.push(this.#loop(milliseconds, step));
    return this;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#loops);
  }

  async #loop(milliseconds: number, step: Step): Promise<void> {
    const { signal } = this.#stopping;
    let pause = milliseconds;
    while (!signal.aborted) {
      await sleep(pause, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      const more = await step().catch(error => {
        this.#onError(error);
        return false;
      });
      pause = more ? betweenSteps : milliseconds;
    }
  }
}
