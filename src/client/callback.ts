/** Calls a function that was handed in: nothing that it throws, now or later, gets out. It is not waited for. */
export function callSafely(run: () => unknown, onFailure: (error: unknown) => void): void {
  try {
    const result = run();
    if (result instanceof Promise) result.catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}
