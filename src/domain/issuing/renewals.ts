/**
 * Renews a lease: first at the provider, then here, so that a crash in between leaves a credential that the service ends
 * sooner than its provider would. A renewal that meets the lease's end is refused, whatever it did at the provider:
 * there, the user is locked before it is removed.
 */
import { Failure } from '../../contract/errors.ts';
import type { IssuerRow, LeaseRow } from '../../store/records/leases.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Records } from '../resources/records.ts';
import { openIssuer } from './issuer-content.ts';
import { graceAtProvider } from './lease-records.ts';
import { codeOf, type Dial, withAttached } from './providers.ts';

export function renewalsWith({ store, stamps, now }: Parts, records: Records, dial: Dial) {
  async function issuerOf(row: LeaseRow): Promise<IssuerRow> {
    const found = await store.issuers.anywhere(row.issuer_id);
    if (found === undefined) throw new Failure('NOT_FOUND');
    return stamps.issuer.believe(found);
  }

  return {
    /** Until when it lives now at the provider; the row is the caller's to store. It never becomes shorter. */
    async extend(row: LeaseRow, ttl: number | undefined, latest: number | null): Promise<number> {
      if (row.state !== 'active' || row.expires_at <= now()) throw over();
      const issuer = await issuerOf(row);
      const wanted = now() + (ttl ?? issuer.default_ttl) * 1_000;
      const until = Math.min(wanted, row.ends_at, latest ?? Number.POSITIVE_INFINITY);
      if (until <= row.expires_at) return row.expires_at;
      const { sealer } = await records.vaultById(issuer.organization_id, issuer.vault_id);
      const content = openIssuer(sealer, issuer);
      const isThere = await withAttached(dial, issuer.provider, content, attached =>
        attached.renew(row.account, until + graceAtProvider),
      ).catch(unavailable);
      if (!isThere) throw over();
      return until;
    },
  };
}

export function over(): Failure {
  return new Failure('CONFLICT', { message: 'The credential has ended; request another one' });
}

export function unavailable(cause: unknown): never {
  if (cause instanceof Failure) throw cause;
  const message = `The issuer is not available: ${codeOf(cause)}`;
  throw new Failure('UNAVAILABLE', { message, retryAfter: 5 });
}
