/**
 * Finds the first candidate that can be reached. Each is tried a little after the one before it, or as soon as that one
 * has failed, so that unresponsive candidates don't delay the others. While others are pending, failed ones are
 * retried, because they may become available. Rejects with the last error once each has failed.
 */

/** In milliseconds. */
export const stagger = 250;

export function firstReached<T>(
  candidates: readonly T[],
  attempt: (candidate: T) => Promise<unknown>,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const waiting = [...candidates];
  const unanswered = new Set(candidates);
  const failed: T[] = [];
  let isOver = false;
  const next = () => {
    const candidate = waiting.shift() ?? failed.shift();
    if (candidate !== undefined && !isOver) void begin(candidate);
  };
  const begin = async (candidate: T) => {
    try {
      await attempt(candidate);
      resolve(candidate);
    } catch (error) {
      unanswered.delete(candidate);
      failed.push(candidate);
      if (unanswered.size === 0) reject(error);
      else if (waiting.length > 0) next();
    }
  };
  const timer = setInterval(next, stagger);
  next();
  return promise.finally(() => {
    isOver = true;
    clearInterval(timer);
  });
}
