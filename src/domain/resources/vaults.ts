/** Vaults, each with its own encryption key. */
import { Failure } from '../../contract/errors.ts';
import type { ResourceQuery, Vault, VaultCreate, VaultUpdate } from '../../contract/resources.ts';
import { iso } from '../../contract/text.ts';
import { type Collection, listOf } from '../kernel/collection.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Labelled } from './lookup.ts';
import type { Records } from './records.ts';

export type Vaults = Collection<Vault, VaultCreate, VaultUpdate, ResourceQuery>;

export function vaultsWith({ guard }: Parts, records: Records): Vaults {
  return {
    async list(caller, query) {
      const permit = await guard.admit(caller, 'vaults:read');
      const { items, total } = await records.list(permit, 'vault', query);
      return listOf(items.map(presentVault), total, query);
    },

    async get(caller, id) {
      const permit = await guard.admit(caller, 'vaults:read');
      return presentVault(await records.labelled(await records.find(permit, 'vault', id)));
    },

    async create(caller, { name, description = '', tags = {} }) {
      const permit = await guard.admit(caller, 'vaults:write');
      return presentVault(await records.createVault(permit, name, { tags, description }));
    },

    async update(caller, id, body) {
      const permit = await guard.admit(caller, 'vaults:write');
      const revised = await records.revise(permit, 'vault', id, ({ name }) => {
        // Whether a name is free tells of vaults that they may not know of.
        if (permit.vaults !== null && body.name !== undefined && body.name !== name) throw notTheirs();
        return body;
      });
      return presentVault(revised);
    },

    async remove(caller, id, purge) {
      const permit = await guard.admit(caller, 'vaults:write');
      await records.remove(permit, 'vault', id, purge);
    },
  };
}

function notTheirs(): Failure {
  return new Failure('FORBIDDEN', { message: 'Renaming a vault takes a role in the organization' });
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
