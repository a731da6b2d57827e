/**
 * Why a request was refused, for operators. The log records the status and the access key; what was wrong with the key
 * follows from its own record, as it is today. The caller is never told.
 */
import type { AccessKey, RequestLog } from '../../api/types.ts';

const byStatus: Readonly<Record<number, string>> = {
  400: 'The request could not be understood.',
  403: 'What was asked for is not active yet, or the access key sees names only.',
  404: 'Nothing that the access key sees has this id or name.',
  410: 'What was asked for has expired.',
  429: 'Too many requests: the limit of the access key, or too many failures from this address.',
  503: 'The service could not record or answer it at that moment.',
};

export function reasonOf(entry: RequestLog, key: AccessKey | null): string {
  if (entry.status !== 401) return byStatus[entry.status] ?? 'The service could not answer it.';
  if (entry.access_key_id === null) return 'No access key was recognised.';
  if (key === null) return 'The access key was revoked or deleted.';
  const at = Date.parse(entry.created_at);
  if (key.expiration_date !== null && Date.parse(key.expiration_date) <= at)
    return 'The access key had expired.';
  if (key.cidrs !== null && !key.cidrs.some(range => isWithin(entry.ip_address, range)))
    return 'The address is outside the networks of the access key.';
  if (key.max_uses !== null && key.uses >= key.max_uses) return 'The access key was used up.';
  if (entry.narrowing !== null) return 'What its holder restricted it to forbids this time or address.';
  return 'The token was not right, or the access key is not for this vault.';
}

/** IPv4 by its bits; of IPv6 only what is written alike is known to be within. */
function isWithin(address: string, range: string): boolean {
  const [base = '', length = ''] = range.split('/');
  const [a, b] = [bitsOf(address), bitsOf(base)];
  if (a === null || b === null) return a === b;
  const size = length === '' ? 32 : Number(length);
  return a.slice(0, size) === b.slice(0, size);
}

function bitsOf(address: string): string | null {
  const parts = address.split('.').map(Number);
  if (parts.length !== 4 || parts.some(part => !Number.isInteger(part))) return null;
  return parts.map(part => part.toString(2).padStart(8, '0')).join('');
}
