/** What rotates when, what was rotated, and a rotation on request, for people and programs that see the secrets. */
import type { List, PageQuery } from '../../contract/common.ts';
import type { RotationState } from '../../contract/names.ts';
import type { PastRotation, Rotate, RotationQuery, ScheduledRotation } from '../../contract/rotations.ts';
import type { Secret } from '../../contract/secrets.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { RotationQueueRow } from '../../store/records/rotations.ts';
import { listOf } from '../kernel/collection.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, vaultsAsked } from '../kernel/permits.ts';
import type { Records } from '../resources/records.ts';
import { lastRotation, nextRotation, plannedRotation } from '../resources/rotation-plans.ts';
import { presentSecret } from '../resources/secrets.ts';
import type { RotationKeeper } from './rotation-keeper.ts';
import { presentPast } from './rotation-records.ts';

export type SecretRotations = ReturnType<typeof secretRotationsWith>;

type Reading = Permit<'secrets:read'>;
type Writing = Permit<'secrets:write'>;

export function secretRotationsWith(
  { store, stamps }: Parts,
  records: Records,
  keeper: Pick<RotationKeeper, 'rotate'>,
) {
  /** Null if the secret doesn't rotate any more, by its own row. */
  async function scheduled(queue: RotationQueueRow): Promise<ScheduledRotation | null> {
    const found = await store.resources.byId(queue.organization_id, queue.resource_id);
    const row = found && stamps.resource.believe(found);
    const planned = row && plannedRotation(row);
    if (row === undefined || !planned || row.deleted_at !== null) return null;
    const living = await store.rotations.living(row.id);
    const rotation = living && stamps.rotation.believe(living);
    return {
      secret_id: row.id,
      vault_id: row.vault_id,
      name: row.name,
      every: planned.plan.every,
      overlap: planned.plan.overlap,
      kind: planned.plan.by.kind,
      next_rotation_at: iso(nextRotation(row)!),
      rotated_at: isoOrNull(lastRotation(row)),
      state: (rotation?.state as RotationState | undefined) ?? 'waiting',
      previous_until: isoOrNull(rotation?.overlap_until ?? null),
      failing_since: isoOrNull(queue.failing_since),
      reason: queue.reason,
    };
  }

  return {
    /** The next first. */
    async list(permit: Reading, query: RotationQuery): Promise<List<ScheduledRotation>> {
      const vaultIds = vaultsAsked(permit, query.vault_id);
      if (vaultIds?.length === 0) return listOf<ScheduledRotation>([], 0, query);
      const { organizationId } = permit.caller;
      const filter = { organizationId, vaultIds, isFailing: query.state === 'failing' };
      const { rows, total } = await store.rotations.queues.page(filter, query);
      const items = await Promise.all(rows.map(scheduled));
      return listOf(
        items.filter(one => one !== null),
        total,
        query,
      );
    },

    async history(permit: Reading, id: string, query: PageQuery): Promise<List<PastRotation>> {
      const row = await records.find(permit, 'secret', id);
      const page = { page: query.page, limit: query.limit, asOf: query.as_of };
      const { rows, total } = await store.rotations.page(row.id, page);
      return listOf(rows.map(stamps.rotation.believe).map(presentPast), total, query);
    },

    async rotate(permit: Writing, id: string, { end_previous = false }: Rotate): Promise<Secret> {
      await keeper.rotate(permit, id, end_previous);
      return presentSecret(await records.labelled(await records.find(permit, 'secret', id)));
    },
  };
}
