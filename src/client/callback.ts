/** Calls a caller's function without waiting for it. Errors that it throws, now or later, go to `onFailure`. */
export function callSafely(run: () => unknown, onFailure: (error: unknown) => void): void {
  try {
    const result = run();
    if (result instanceof Promise) result.catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}
