/** Vaults: named boxes, each with a key of its own. */
import type { ResourceQuery, Vault, VaultCreate, VaultUpdate } from '../contract/resources.ts';
import { iso } from '../contract/text.ts';
import type { Labelled } from './catalogue.ts';
import { type Collection, listOf } from './collection.ts';
import type { Parts } from './parts.ts';
import type { Shelf } from './shelf.ts';

export type Vaults = Collection<Vault, VaultCreate, VaultUpdate, ResourceQuery>;

export function vaultsWith({ guard }: Parts, shelf: Shelf): Vaults {
  return {
    async list(caller, query) {
      await guard.admit(caller, 'vaults:read');
      const { items, total } = await shelf.list(caller, 'vault', query);
      return listOf(items.map(presentVault), total, query);
    },

    async get(caller, id) {
      await guard.admit(caller, 'vaults:read');
      return presentVault(await shelf.labelled(await shelf.find(caller, 'vault', id)));
    },

    async create(caller, { name, description = '', tags = {} }) {
      return presentVault(await shelf.createVault(caller, name, { tags, description }));
    },

    async update(caller, id, body) {
      await guard.admit(caller, 'vaults:write');
      return presentVault(await shelf.revise(caller, 'vault', id, () => body));
    },

    async remove(caller, id, purge) {
      await guard.admit(caller, 'vaults:write');
      await shelf.remove(caller, 'vault', id, purge);
    },
  };
}

export function presentVault({ row, labels }: Labelled): Vault {
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
