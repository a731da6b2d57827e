/**
 * Time as the service tells it, begun where the log ends.
 *
 * `now` never goes back: a clock that is set back would revive what has expired, and write entries before older ones.
 * While the machine's clock is behind, time goes on at half its pace until the clock has caught up.
 *
 * `aged` is what ages are judged by where something is removed for good. It follows `now`, but at most ten times as
 * fast as time really passes: a clock that jumps ahead by a year removes ten days' worth a day, and somebody can
 * notice. Checkpoints carry it from one start to the next.
 */
export interface Clock {
  readonly now: () => number;
  readonly aged: () => number;
}

/**
 * The machine's clock; or one that whoever starts the service moves by hand, in all of its threads at once: by how many
 * milliseconds it is ahead, and where it stands still, or NaN while it runs.
 */
export function wallClock(moved: SharedArrayBuffer | null): () => number {
  if (moved === null) return Date.now;
  const settings = new Float64Array(moved);
  return () => (Number.isNaN(settings[1]) ? Date.now() + settings[0]! : settings[1]!);
}

/** What the newest checkpoint says of the time at which it was signed. */
export interface SignedTime {
  readonly now: number;
  readonly aged: number;
}

export interface ClockParts {
  /** The machine's clock. */
  readonly wall: () => number;
  /** Milliseconds that really passed, whatever is done to the clock. */
  readonly elapsed: () => number;
  /** Null before the first checkpoint. */
  readonly signed: SignedTime | null;
  /** Told when the machine's clock is found behind, by how much. */
  readonly onBehind: (milliseconds: number) => void;
}

const fastestAging = 10;
/** Clocks are corrected by less all the time. */
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
  /** What the clock said when it was last found behind, and when that was; null while it is not. */
  let found: { readonly time: number; readonly at: number } | null = null;
  const behind = (time: number) => {
    const at = elapsed();
    if (time < (found?.time ?? last) - worthTelling) onBehind(last - time);
    // By what really passes: a clock that is set to and fro would drive time ahead with each step forward.
    if (found !== null) last += (at - found.at) / 2;
    found = { time, at };
    return Math.floor(last);
  };
  // It is read several times for every request.
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
