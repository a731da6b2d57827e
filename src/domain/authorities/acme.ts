/** The ACME server of an organization’s profiles, as the HTTP surface uses it. */
import type { AcmeAccountRow, AcmeOrderRow } from '../../store/records/acme.ts';
import type { MinuteCounter } from '../kernel/minute-counter.ts';
import type { Parts } from '../kernel/parts.ts';
import { acmeAccountsWith } from './acme-accounts.ts';
import { acmeOrdersWith } from './acme-orders.ts';
import { acmeRequestsWith } from './acme-requests.ts';
import type { Issuance } from './issuance.ts';

export type AcmeAccountView = Pick<AcmeAccountRow, 'id' | 'state' | 'contacts'>;
export type AcmeOrderView = Pick<AcmeOrderRow, 'id' | 'state' | 'names' | 'expires_at' | 'certificate_id'>;

export function acmeWith(parts: Parts, issuance: Issuance, attempts: MinuteCounter) {
  const requests = acmeRequestsWith(parts);
  return {
    requests,
    accounts: acmeAccountsWith(parts, requests, attempts),
    orders: acmeOrdersWith(parts, requests, issuance),
  };
}
