/** An id for something that has no row of its own, derived from what it is about. */
import { hash } from 'node:crypto';

export function derivedId(...parts: readonly string[]): string {
  const digits = hash('sha256', JSON.stringify(parts), 'hex');
  return [
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ]
    .map(([from, to]) => digits.slice(from, to))
    .join('-');
}
