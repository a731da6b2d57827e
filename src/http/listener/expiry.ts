/**
 * Refuses an expiry in the past: it is likely a mistake, and the result could not be used. An expired record can still
 * be changed, and its current expiry sent back unchanged.
 */
import { invalid } from '../../contract/errors.ts';

const field = 'expiration_date';

/** `shown` returns the record that is being changed; null if a record is being created. */
export async function checkExpiry(
  sent: unknown,
  now: number,
  shown: (() => Promise<object>) | null,
): Promise<void> {
  const expiry = expiryIn(sent);
  if (expiry === null || expiry > now) return;
  if (shown !== null && expiryIn(await shown()) === expiry) return;
  throw invalid(field, 'must be in the future');
}

function expiryIn(record: unknown): number | null {
  if (typeof record !== 'object' || record === null) return null;
  const { [field]: date } = record as { [field]?: unknown };
  return typeof date === 'string' ? Date.parse(date) : null;
}
