/**
 * The one place where a parser's complaint becomes a refusal: the caller reads `reason`, the operator's log
 * gets the cause, and a Failure that was already chosen passes through untouched.
 */
import { Failure, invalid } from '../contract/errors.ts';

export function refusing<T>(field: string, reason: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof Failure ? error : invalid(field, reason, error);
  }
}
