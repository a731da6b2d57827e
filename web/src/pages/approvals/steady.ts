/**
 * Keeps cards in place while anything is waiting: new ones are added below, and decided ones stay where they were. A card
 * that moved up under the pointer could receive a click that was meant for another.
 */
import { useState } from 'react';

interface Waiting {
  readonly id: string;
}

export interface Steady<T> {
  readonly of: T;
  /** It was decided or has expired since; it stays in place, so that nothing below it moves. */
  readonly isGone: boolean;
}

export function useSteady<T extends Waiting>(found: readonly T[]): readonly Steady<T>[] {
  const [shown, setShown] = useState<readonly T[]>([]);
  const added = found.filter(({ id }) => !shown.some(one => one.id === id));
  const isOver = found.length === 0 && shown.length > 0;
  const all = isOver ? [] : [...shown, ...added];
  if (added.length > 0 || isOver) setShown(all);
  return all.map(known => {
    const now = found.find(({ id }) => id === known.id);
    return { of: now ?? known, isGone: now === undefined };
  });
}
