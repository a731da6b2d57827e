/** A progress bar for work that takes longer than a second; only on a terminal. */
const delay = 1_000;
const width = 30;

export type Progress = ReturnType<typeof progress>;

export function progress(total: number, now = Date.now) {
  const started = now();
  let done = 0;
  let drawn = false;
  return {
    advance: (by: number) => {
      done += by;
      if (!process.stderr.isTTY || now() - started < delay) return;
      drawn = true;
      const filled = Math.round((done / total) * width);
      process.stderr.write(`\r[${'#'.repeat(filled)}${' '.repeat(width - filled)}] ${done}/${total}`);
    },
    end: () => {
      if (drawn) process.stderr.write('\r\u001b[K');
    },
  };
}
