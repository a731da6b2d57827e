/**
 * Turns a parser's error into a refusal: the caller sees `reason`, the operator's log gets the cause, and a `Failure`
 * passes through unchanged.
 */
import { Failure, invalid } from '../contract/errors.ts';

export function refusing<T>(field: string, reason: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof Failure ? error : invalid(field, reason, error);
  }
}
