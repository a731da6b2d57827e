/** The window of every limit: a minute of the clock, the same one in every process. In whole seconds. */
const size = 60;

export interface RateWindow {
  readonly start: number;
  readonly end: number;
  /** Until it ends. */
  readonly secondsLeft: number;
}

/** The window of a moment, which is in milliseconds since 1970. */
export function rateWindowAt(now: number): RateWindow {
  const seconds = Math.floor(now / 1000);
  const start = seconds - (seconds % size);
  const end = start + size;
  return { start, end, secondsLeft: end - seconds };
}
