/** Vaults, each with its own encryption key. */
import { allows } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import type {
  ResourceQuery,
  Vault,
  VaultCounts,
  VaultCreate,
  VaultUpdate,
} from '../../contract/resources.ts';
import { iso } from '../../contract/text.ts';
import { type Collection, listOf } from '../kernel/collection.ts';
import type { Permit } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Labelled } from './lookup.ts';
import type { Records } from './records.ts';
import { actionOn } from './subject.ts';

export interface Vaults extends Collection<'vaults', Vault, VaultCreate, VaultUpdate, ResourceQuery> {
  /** The number of resources in vaults, for the types that the caller may read. */
  counts(permit: Permit<'vaults:read'>, vaultIds: readonly string[] | undefined): Promise<VaultCounts>;
}

const mostCounted = 100;

export function vaultsWith({ store }: Parts, records: Records): Vaults {
  return {
    async list(permit, query) {
      const { items, total } = await records.list(permit, 'vault', query);
      return listOf(items.map(presentVault), total, query);
    },

    async get(permit, id) {
      return presentVault(await records.labelled(await records.find(permit, 'vault', id)));
    },

    async create(permit, { name, description = '', tags = {} }) {
      return presentVault(await records.createVault(permit, name, { tags, description }));
    },

    async update(permit, id, body) {
      const revised = await records.revise(permit, 'vault', id, ({ name }) => {
        // Whether a name is free would reveal vaults that the caller may not know about.
        if (permit.vaults !== null && body.name !== undefined && body.name !== name) throw notTheirs();
        return body;
      });
      return presentVault(revised);
    },

    async remove(permit, id, purge) {
      await records.remove(permit, 'vault', id, purge);
    },

    async counts({ caller, vaults }, vaultIds) {
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

function presentVault({ row, labels }: Labelled): Vault {
  return {
    id: row.id,
    type: 'vault',
    name: row.name,
    description: labels.description,
    tags: labels.tags,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
