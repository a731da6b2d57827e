/** The window of every rate limit: one clock minute, the same in every process. Times are in whole seconds. */
const size = 60;

interface RateWindow {
  readonly start: number;
  readonly end: number;
  /** Until the window ends. */
  readonly secondsLeft: number;
}

/** The window that contains a time, given in milliseconds since 1970. */
export function rateWindowAt(now: number): RateWindow {
  const seconds = Math.floor(now / 1000);
  const start = seconds - (seconds % size);
  const end = start + size;
  return { start, end, secondsLeft: end - seconds };
}
