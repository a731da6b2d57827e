/** Hands over together what comes up in one turn of the event loop: a message to another thread costs the same for all. */
export function batched<T>(handOver: (items: readonly T[]) => void): (item: T) => void {
  let waiting: T[] = [];
  return item => {
    waiting.push(item);
    if (waiting.length > 1) return;
    setImmediate(() => {
      const items = waiting;
      waiting = [];
      handOver(items);
    });
  };
}
