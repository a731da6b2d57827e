/**
 * Repeats an exchange: one at a time, with jitter so that many clients don't poll at the same moment, sooner after a
 * failure, and never before the time that the service asked for.
 */
import type { Clock } from './clock.ts';
import { asError, StrongroomError } from './errors.ts';

export interface PollerParts {
  readonly exchange: () => Promise<void>;
  readonly clock: Clock;
  /** Between 0 and 1. */
  readonly random: () => number;
  /** In milliseconds. */
  readonly interval: number;
}

export class Poller {
  readonly #parts: PollerParts;
  #flight: Promise<void> | null = null;
  #failures = 0;
  #notBefore = 0;
  #cancel: (() => void) | null = null;
  #stopped = false;

  constructor(parts: PollerParts) {
    this.#parts = parts;
  }

  /** Joins the exchange in progress, if there is one. */
  run(): Promise<void> {
    this.#flight ??= this.#attempt().finally(() => {
      this.#flight = null;
    });
    return this.#flight;
  }

  async #attempt(): Promise<void> {
    const early = this.#notBefore - this.#parts.clock.now();
    if (early > 0) throw heldBack(early);
    try {
      await this.#parts.exchange();
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      this.#notBefore = this.#parts.clock.now() + (asError(error).retryAfterSeconds ?? 0) * 1000;
      throw error;
    }
  }

  start(): void {
    if (this.#stopped) return;
    this.#cancel = this.#parts.clock.after(this.delay(), () => this.#tick(), false);
  }

  /** Resolves when the exchange is finished; a test's clock waits for it. */
  async #tick(): Promise<void> {
    await this.run().catch(() => {}); // The exchange itself reports its errors.
    this.start();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  /** The interval plus or minus a fifth; after failures one second, doubling up to the interval. */
  delay(): number {
    const { clock, interval, random } = this.#parts;
    const wait = this.#failures === 0 ? interval : Math.min(interval, 1000 * 2 ** (this.#failures - 1));
    return Math.max(wait * (0.8 + 0.4 * random()), this.#notBefore - clock.now());
  }
}

function heldBack(milliseconds: number): StrongroomError {
  const retryAfterSeconds = Math.ceil(milliseconds / 1000);
  return new StrongroomError('RATE_LIMITED', 'The vault asked the client to wait.', {
    retryAfterSeconds,
  });
}
