/** An id for something that has no row of its own, derived from what it is about. */
import { hash } from 'node:crypto';
import { uuidOf } from '../../access/token.ts';

export function derivedId(...parts: readonly string[]): string {
  return uuidOf(hash('sha256', JSON.stringify(parts), 'hex').slice(0, 32));
}
