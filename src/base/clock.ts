/**
 * The service's clock. It continues from the time in the newest checkpoint.
 *
 * `now` never goes backwards: a clock that is set back would make expired credentials valid again and date new entries
 * before older ones. While the machine's clock is behind, time advances at half speed until the clock has caught up.
 *
 * `aged` determines ages where data is permanently deleted. It follows `now`, but at most ten times as fast as time
 * really passes: after the clock jumps ahead by a year, at most ten days' worth of data is deleted per day, which
 * leaves time to notice. Checkpoints carry it from one start to the next.
 */
export interface Clock {
  readonly now: () => number;
  readonly aged: () => number;
}

/**
 * Returns the machine's clock, or one that the starting process adjusts through a buffer shared by all threads: the
 * first number is the offset in milliseconds, the second a fixed time, or NaN while the clock runs.
 */
export function wallClock(moved: SharedArrayBuffer | null): () => number {
  if (moved === null) return Date.now;
  const settings = new Float64Array(moved);
  return () => (Number.isNaN(settings[1]) ? Date.now() + settings[0]! : settings[1]!);
}

/** The times recorded in the newest checkpoint when it was signed. */
export interface SignedTime {
  readonly now: number;
  readonly aged: number;
}

interface ClockParts {
  /** The machine's clock. */
  readonly wall: () => number;
  /** Monotonic time in milliseconds, independent of the machine's clock. */
  readonly elapsed: () => number;
  /** Null before the first checkpoint. */
  readonly signed: SignedTime | null;
  /** Called when the machine's clock is found to be behind, with the difference. */
  readonly onBehind: (milliseconds: number) => void;
}

const fastestAging = 10;
/** Smaller corrections of the clock are normal. */
const worthTelling = 1_000;

export function clockWith({ wall, elapsed, signed, onBehind }: ClockParts): Clock {
  const now = neverBack(wall, elapsed, signed?.now ?? 0, onBehind);
  return { now, aged: agingWith(now, elapsed, signed?.aged ?? now()) };
}

function neverBack(
  wall: () => number,
  elapsed: () => number,
  begin: number,
  onBehind: ClockParts['onBehind'],
): () => number {
  let last = begin;
  /** The clock's reading when it was last found behind, and the monotonic time then. Null while it is not behind. */
  let found: { readonly time: number; readonly at: number } | null = null;
  const behind = (time: number) => {
    const at = elapsed();
    if (time < (found?.time ?? last) - worthTelling) onBehind(last - time);
    // Based on monotonic time: otherwise a clock that is set back and forth would advance time with each step forward.
    if (found !== null) last += (at - found.at) / 2;
    found = { time, at };
    return Math.floor(last);
  };
  // Kept fast: it is called several times per request.
  return () => {
    const time = wall();
    if (time < last) return behind(time);
    found = null;
    last = time;
    return time;
  };
}

function agingWith(now: () => number, elapsed: () => number, begin: number): () => number {
  let aged = Math.min(begin, now());
  let at = elapsed();
  return () => {
    const passed = elapsed() - at;
    at += passed;
    aged = Math.max(aged, Math.min(now(), aged + fastestAging * passed));
    return Math.floor(aged);
  };
}
