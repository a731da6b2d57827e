/**
 * Leases end with the access key that holds them: when it is revoked, restricted, or loses what it rests on. Keys that
 * are seen to change are looked at at once, all others in turn, a few at a time.
 */
import type { Caller } from '../../access/caller.ts';
import { isId } from '../../contract/id.ts';
import type { Holding } from '../../store/records/leases.ts';
import { StaleChange } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import { leaseRecordsWith, leaseSubject } from './lease-records.ts';

const lookedAtOnce = 100;
const endedAtOnce = 100;
const mostTouched = 10_000;

export function holdersWith(parts: Parts, service: (organizationId: string) => Caller) {
  const { store, stamps, guard } = parts;
  const changes = leaseRecordsWith(parts);
  const changed = new Set<string>();
  const beginning = '00000000-0000-0000-0000-000000000000';
  let after = beginning;

  async function isOver({ access_key_id: id, issuer_name: holds, ...of }: Holding): Promise<boolean> {
    const { origin } = service(of.organization_id);
    return (await guard.standing({ kind: 'access-key', id, holds }, [], of.vault_id, origin)) === null;
  }

  async function end({ access_key_id, issuer_id, organization_id }: Holding): Promise<void> {
    const permit = await guard.admit(service(organization_id), 'leases:write');
    for (;;) {
      const held = await store.leases.active(issuer_id, access_key_id, endedAtOnce);
      const rows = held
        .map(stamps.lease.believe)
        .filter(({ state }) => state === 'active')
        .map(row => changes.ending(row, 'holder'));
      const [first, ...others] = rows.map(row => leaseSubject(row));
      if (first === undefined) return;
      await guard.change(permit, 'lease.ended', {
        subjects: [first, ...others],
        statements: rows.map(store.leases.update),
        touches: [],
      });
    }
  }

  async function lookAt(holdings: readonly Holding[]): Promise<void> {
    for (const one of holdings) {
      if (!(await isOver(one))) continue;
      // What another change came first for is looked at again in its turn.
      await end(one).catch(error => {
        if (!(error instanceof StaleChange)) throw error;
      });
    }
  }

  return {
    touched(ids: readonly string[] | 'all'): void {
      if (ids === 'all') after = beginning;
      // Not everything that is touched has an id in the form of those of access keys.
      else if (changed.size < mostTouched) for (const id of ids) if (isId(id)) changed.add(id);
    },

    /** Returns whether changed ones are left. */
    async look(): Promise<boolean> {
      const ids = [...changed].slice(0, lookedAtOnce);
      // What fails is looked at again in its turn.
      for (const id of ids) changed.delete(id);
      if (ids.length > 0) await lookAt(await store.leases.holdings(ids, lookedAtOnce));
      const next = await store.leases.holdings(after, lookedAtOnce);
      await lookAt(next);
      after = next.length < lookedAtOnce ? beginning : next.at(-1)!.access_key_id;
      return changed.size > 0;
    },
  };
}
