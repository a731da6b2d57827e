/** Vaults, each with its own encryption key. */
import { allows } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import type { Vault, VaultCounts, VaultCreate, VaultUpdate } from '../../contract/resources.ts';
import { iso } from '../../contract/text.ts';
import type { Permit } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Labelled } from './lookup.ts';
import type { Records } from './records.ts';
import { actionOn } from './subject.ts';

export type Vaults = ReturnType<typeof vaultsWith>;

const mostCounted = 100;

export function vaultsWith({ store }: Parts, records: Records) {
  return {
    ...records.collectionOf('vault', presentVault),

    async create(
      permit: Permit<'vaults:write'>,
      { name, description = '', tags = {} }: VaultCreate,
    ): Promise<Vault> {
      return presentVault(await records.createVault(permit, name, { tags, description }));
    },

    async update(permit: Permit<'vaults:write'>, id: string, body: VaultUpdate): Promise<Vault> {
      const revised = await records.revise(permit, 'vault', id, ({ name }) => {
        // Whether a name is free would reveal vaults that the caller may not know about.
        if (permit.vaults !== null && body.name !== undefined && body.name !== name) throw notTheirs();
        return body;
      });
      return presentVault(revised);
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
