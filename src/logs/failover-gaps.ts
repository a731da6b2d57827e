/**
 * Tells what a failover lost from what somebody cut off. A standby that takes over lacks the newest checkpoints and the
 * entries that they signed, and an entry that we signed or marked says when it took over. So what was signed after the last
 * checkpoint that is still there before that moment, and not after the next one, was lost by it; all else was removed.
 */
import type { Continued } from './logged-link.ts';

/** Between two checkpoints that are there, where another one was, in milliseconds. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

export class FailoverGaps {
  readonly #slack: number;
  readonly #gaps: Gap[] = [];

  /** Within which time a failover is written down after the first checkpoint behind it, in milliseconds. */
  constructor(slack: number) {
    this.#slack = slack;
  }

  add(from: number, to: number): void {
    this.#gaps.push({ from, to });
  }

  /** Whether what was signed then was lost by one of these. */
  isLost(signedAt: number, continued: readonly Continued[]): boolean {
    return this.#gaps.some(
      ({ from, to }) =>
        signedAt > from &&
        signedAt <= to + this.#slack &&
        continued.some(({ at }) => Date.parse(at) >= from && Date.parse(at) <= to + this.#slack),
    );
  }
}
