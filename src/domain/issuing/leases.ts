/** Leases from the side of people: who holds what, until when, and ending or extending it. */
import type { Action } from '../../access/policy.ts';
import type { List } from '../../contract/common.ts';
import type { Lease, LeaseQuery, LeaseRenew } from '../../contract/issuers.ts';
import { leaseStates } from '../../contract/names.ts';
import { listOf } from '../kernel/collection.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, vaultsAsked } from '../kernel/permits.ts';
import type { Records } from '../resources/records.ts';
import { isTrusted } from '../resources/review.ts';
import { leaseRecordsWith, leaseSubject, presentLease } from './lease-records.ts';
import type { Dial } from './providers.ts';
import { renewalsWith } from './renewals.ts';

type Writing = Permit<'leases:write'>;

const living = leaseStates.filter(state => state !== 'gone');

export function leasesWith(parts: Parts, records: Records, dial: Dial) {
  const { store, stamps, guard } = parts;
  const changes = leaseRecordsWith(parts);
  const renewals = renewalsWith(parts, records, dial);

  async function find<A extends Action>(permit: Permit<A>, id: string) {
    const found = await store.leases.byId(permit.caller.organizationId, id);
    return stamps.lease.believe(await guard.found(permit, found, found?.vault_id));
  }

  return {
    async list(permit: Permit<'leases:read'>, query: LeaseQuery): Promise<List<Lease>> {
      const vaultIds = vaultsAsked(permit, query.vault_id);
      if (vaultIds?.length === 0) return listOf<Lease>([], 0, query);
      const { issuer_id: issuerId, access_key_id: accessKeyId, state } = query;
      const states = state === 'living' ? living : state && [state];
      const filter = {
        organizationId: permit.caller.organizationId,
        vaultIds,
        issuerId,
        accessKeyId,
        states,
      };
      const page = { page: query.page, limit: query.limit, asOf: query.as_of };
      const found = await store.leases.page(filter, page);
      return listOf(
        found.rows.map(row => presentLease(stamps.lease.believe(row))),
        found.total,
        query,
      );
    },

    get: async (permit: Permit<'leases:read'>, id: string): Promise<Lease> =>
      presentLease(await find(permit, id)),

    renew: (permit: Writing, id: string, { ttl }: LeaseRenew): Promise<Lease> =>
      retryingStale(async () => {
        const before = await find(permit, id);
        // The provider is asked before anything is stored, and what is long enough already is not stored at all.
        await guard.confirm(permit);
        const until = await renewals.extend(before, ttl, null);
        if (until === before.expires_at) return presentLease(before);
        const row = changes.renewed(before, until);
        await guard.change(permit, 'lease.renewed', {
          subjects: [leaseSubject(row)],
          statements: [store.leases.update(row)],
          touches: [id],
        });
        return presentLease(row);
      }),

    /** It is revoked at the provider soon after. Of one that has ended, nothing changes. */
    revoke: (permit: Writing, id: string): Promise<Lease> =>
      retryingStale(async () => {
        const before = await find(permit, id);
        if (before.state !== 'active' && before.state !== 'creating') {
          if (!isTrusted(permit.caller)) await guard.confirm(permit);
          return presentLease(before);
        }
        const row = changes.ending(before, before.state === 'creating' ? 'failed' : 'revoked');
        await guard.change(permit, 'lease.ended', {
          subjects: [leaseSubject(row)],
          statements: [store.leases.update(row)],
          touches: [id],
        });
        return presentLease(row);
      }),
  };
}
