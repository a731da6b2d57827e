/** Functions that remember their results. */

export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Remembers up to `most` results. Beyond it, all are forgotten. */
export function remembering<Key, T>(most: number, make: (key: Key) => T): (key: Key) => T {
  const known = new Map<Key, T>();
  return key => {
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= most) known.clear();
    const made = make(key);
    known.set(key, made);
    return made;
  };
}
