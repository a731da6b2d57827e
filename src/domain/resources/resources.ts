/** All four resource types together: one list, and one place to create, update, delete and restore any of them. */
import type { List } from '../../contract/common.ts';
import type { GenericResource, MixedQuery, ResourceType } from '../../contract/resources.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { type Collection, listOf } from '../kernel/collection.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, permitFor } from '../kernel/permits.ts';
import type { Labelled } from './lookup.ts';
import type { Records } from './records.ts';
import { actionOn } from './subject.ts';
import { deletable } from './trash.ts';

/** A collection whose bodies were already checked against the schema of the type in question. */
type TypedCollections = {
  readonly [T in ResourceType]: Collection<`${T}s`, TypedRecord, never, never, never>;
};

type TypedRecord = Omit<GenericResource, 'type' | 'vault_id' | 'deleted_at'> & { readonly vault_id?: string };

interface TypedBody {
  readonly type: ResourceType;
  readonly body: unknown;
}

type Plural = `${ResourceType}s`;

/**
 * The permit for a list applies where the caller may read everything that it shows. The type of a single resource is known
 * once it is found: a permit for any type is enough to find it, and changing it requires the permit for its type.
 */
export function resourcesWith({ guard }: Parts, records: Records, typed: TypedCollections) {
  async function writingOf<T extends ResourceType>(permit: Permit, row: Pick<ResourceRow, 'type'>) {
    const type = row.type as T;
    const action = actionOn(type, 'write');
    const isFor = permit.action === action;
    return { type, writing: isFor ? permitFor(permit, action) : await guard.admit(permit.caller, action) };
  }

  return {
    async list(permit: Permit<`${Plural}:read`>, query: MixedQuery): Promise<List<GenericResource>> {
      const { items, total } = await records.list(permit, null, query);
      return listOf(items.map(presentResource), total, query);
    },

    async get(permit: Permit<`${Plural}:read`>, id: string): Promise<GenericResource> {
      return presentResource(await records.labelled(await records.find(permit, null, id)));
    },

    async create(permit: Permit<`${Plural}:write`>, { type, body }: TypedBody): Promise<GenericResource> {
      const writing = permitFor(permit, actionOn(type, 'write'));
      return presentTyped(type, await typed[type].create(writing as never, body as never));
    },

    async update(
      permit: Permit<`${Plural}:write`>,
      id: string,
      bodyFor: (type: ResourceType) => unknown,
    ): Promise<GenericResource> {
      const found = await records.find(permit, null, id);
      const body = bodyFor(found.type as ResourceType);
      const { writing, type } = await writingOf(permit, found);
      return presentTyped(type, await typed[type].update(writing as never, id, body as never));
    },

    async remove(permit: Permit<`${Plural}:write`>, id: string, purge: boolean): Promise<void> {
      const found = await records.find(permit, null, id, deletable(purge));
      const { writing, type } = await writingOf(permit, found);
      await records.remove(writing, type, id, purge);
    },

    async restore(permit: Permit<`${Plural}:write`>, id: string): Promise<GenericResource> {
      const found = await records.findRestorable(permit, null, id);
      const { writing, type } = await writingOf(permit, found);
      return presentResource(await records.restore(writing, type, id));
    },
  };
}

function presentTyped(type: ResourceType, record: TypedRecord): GenericResource {
  const { id, name, vault_id = null, tags, created_at, updated_at } = record;
  return { id, type, name, vault_id, tags, deleted_at: null, created_at, updated_at };
}

function presentResource({ row, labels }: Labelled): GenericResource {
  return {
    id: row.id,
    type: row.type as ResourceType,
    name: row.name,
    vault_id: row.type === 'vault' ? null : row.vault_id,
    tags: labels.tags,
    deleted_at: isoOrNull(row.deleted_at),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
