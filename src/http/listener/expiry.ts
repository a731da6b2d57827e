/**
 * Nothing is given an expiry that is past already: whoever sends one mistook the date, and would have created what can't be
 * used. What has expired may still be changed and sent back with the expiry that it has.
 */
import { invalid } from '../../contract/errors.ts';

const field = 'expiration_date';

/** `shown` gives the record that is changed; null where one is created. */
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
