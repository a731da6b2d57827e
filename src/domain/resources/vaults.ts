/** Vaults, each with its own encryption key. */
import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../../access/caller.ts';
import { allows } from '../../access/policy.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type { Vault, VaultCounts, VaultCreate, VaultUpdate } from '../../contract/resources.ts';
import { iso } from '../../contract/text.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Labelled } from './lookup.ts';
import type { Records } from './records.ts';
import { isReviewed } from './sealing.ts';
import { actionOn } from './subject.ts';
import { referableFrom, vaultAttributes } from './templates.ts';

export type Vaults = ReturnType<typeof vaultsWith>;

const mostCounted = 100;

export function vaultsWith({ store, guard }: Parts, records: Records) {
  /**
   * What the vault lets refer to it. Those who may read a vault that is added can then read values of this one, so it
   * requires the permission to reveal them. Vaults that the caller may not see stay as they are.
   */
  async function referring({ caller }: Permit, before: ResourceRow, wanted: readonly string[] | undefined) {
    if (wanted === undefined) return undefined;
    const held = referableFrom(before);
    const added = wanted.filter(id => !held.includes(id));
    const reading = await guard.admit(caller, 'vaults:read');
    // One that the caller may not see is not found, also if it is in the list.
    const isSeen = (id: string) => held.includes(id) && allows(caller, 'vaults:read', id);
    const unknown = wanted.filter(id => !isSeen(id));
    await records.checkVaults(reading, unknown, 'referable_from');
    if (added.includes(before.id)) throw invalid('referable_from', 'must not contain the vault itself');
    if (added.length > 0) await guard.mayShow(caller, ['secrets:reveal'], [before.id], { until: null });
    const unseen = held.filter(id => !allows(caller, 'vaults:read', id));
    const referable_from = [...new Set([...wanted, ...unseen])];
    if (isDeepStrictEqual(referable_from, held)) return undefined;
    return { ...vaultAttributes(before), referable_from };
  }

  /** Writing what a vault contains doesn't include deciding who has to confirm it. */
  const maySwitch = ({ caller }: Permit<'vaults:write'>, id?: string) =>
    guard.mayShow(caller, ['vaults:review'], id === undefined ? undefined : [id], {
      because: 'You can’t switch the review',
    });

  return {
    ...records.collectionOf('vault', presentVault),

    async create(
      permit: Permit<'vaults:write'>,
      { name, description = '', tags = {}, referable_from = [], review = false }: VaultCreate,
    ): Promise<Vault> {
      if (referable_from.length > 0) {
        // The caller may not reveal what a vault will contain because they created it.
        await guard.mayShow(permit.caller, ['secrets:reveal']);
        await records.checkVaults(
          await guard.admit(permit.caller, 'vaults:read'),
          referable_from,
          'referable_from',
        );
      }
      if (review) await maySwitch(permit);
      const attributes = {
        ...(referable_from.length === 0 ? {} : { referable_from }),
        ...(review ? { review } : {}),
      };
      const created = await records.createVault(permit, name, { tags, description }, attributes);
      return presentVault(created, permit.caller);
    },

    async update(permit: Permit<'vaults:write'>, id: string, body: VaultUpdate): Promise<Vault> {
      const { referable_from, review: wanted, ...changes } = body;
      const revised = await records.revise(permit, 'vault', id, async row => {
        const { name } = row;
        // Whether a name is free would reveal vaults that the caller may not know about.
        if (permit.vaults !== null && body.name !== undefined && body.name !== name) throw notTheirs();
        const attributes = await referring(permit, row, referable_from);
        const review = wanted === isReviewed(row) ? undefined : wanted;
        if (review !== undefined) await maySwitch(permit, id);
        // Switching it off may wait for days; what the vault lets others refer to is decided at once.
        if (review === false && attributes !== undefined)
          throw invalid('referable_from', 'can’t change together with the review');
        return { ...changes, attributes, review };
      });
      return presentVault(revised, permit.caller);
    },

    /** The number of resources in vaults, for the types that the caller may read. */
    async counts(
      { caller, vaults }: Permit<'vaults:read'>,
      vaultIds: readonly string[] | undefined,
    ): Promise<VaultCounts> {
      const asked = (vaultIds ?? vaults ?? undefined)?.filter(id => vaults?.includes(id) ?? true);
      if (asked?.length === 0) return { data: [] };
      const found = await store.resources.counts(caller.organizationId, asked, mostCounted);
      const ids = [...new Set(found.map(({ vault_id }) => vault_id))];
      const figure = (id: string, type: 'secret' | 'key' | 'certificate') => {
        if (!allows(caller, actionOn(type, 'read'), id)) return null;
        return found.find(row => row.vault_id === id && row.type === type)?.living ?? 0;
      };
      const data = ids.map(id => ({
        vault_id: id,
        secrets: figure(id, 'secret'),
        keys: figure(id, 'key'),
        certificates: figure(id, 'certificate'),
      }));
      return { data };
    },
  };
}

function notTheirs(): Failure {
  return new Failure('FORBIDDEN', { message: 'Renaming a vault requires a role in the organization' });
}

function presentVault({ row, labels }: Labelled, caller: Caller): Vault {
  return {
    id: row.id,
    type: 'vault',
    name: row.name,
    description: labels.description,
    tags: labels.tags,
    referable_from: referableFrom(row).filter(id => allows(caller, 'vaults:read', id)),
    review: isReviewed(row),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
