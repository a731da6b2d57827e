/**
 * Distinguishes losses in a failover from deliberate removal. A standby that takes over may lack the newest checkpoints
 * and the entries that they signed, and an entry that we signed or marked records when it took over. Anything signed
 * after the last checkpoint that remains from before that time, and up to the next checkpoint, was lost in the
 * failover. Everything else that is missing was removed.
 */
import type { Continued } from './logged-link.ts';

/** The time between two existing checkpoints, in milliseconds, where another is missing. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

export class FailoverGaps {
  readonly #slack: number;
  readonly #gaps: Gap[] = [];

  /** `slack`: how soon a failover is recorded after the first checkpoint following it, in milliseconds. */
  constructor(slack: number) {
    this.#slack = slack;
  }

  add(from: number, to: number): void {
    this.#gaps.push({ from, to });
  }

  /** Whether something signed at that time was lost in one of these failovers. */
  isLost(signedAt: number, continued: readonly Continued[]): boolean {
    return this.#gaps.some(
      ({ from, to }) =>
        signedAt > from &&
        signedAt <= to + this.#slack &&
        continued.some(({ at }) => Date.parse(at) >= from && Date.parse(at) <= to + this.#slack),
    );
  }
}
