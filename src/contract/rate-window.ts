/** The window of every rate limit: one clock minute, the same in every process. Times are in whole seconds. */
const size = 60;

/** The window that contains a time, given in milliseconds since 1970, and the seconds until it ends. */
export function rateWindowAt(now: number) {
  const seconds = Math.floor(now / 1000);
  const start = seconds - (seconds % size);
  const end = start + size;
  return { start, end, secondsLeft: end - seconds };
}
