/** All four types together: one list, and one place to make, change, delete and restore any of them. */
import type { Caller } from '../access/caller.ts';
import type { Action } from '../access/policy.ts';
import { holds } from '../access/policy.ts';
import type { GenericResource, MixedQuery, ResourceType } from '../contract/resources.ts';
import { iso, isoOrNull } from '../contract/text.ts';
import type { Labelled } from './catalogue.ts';
import { type Collection, listOf } from './collection.ts';
import type { Parts } from './parts.ts';
import type { Shelf } from './shelf.ts';
import { actionOn } from './subject.ts';

/** A collection whose bodies were already checked against the schema of the type in question. */
export type TypedCollections = Readonly<Record<ResourceType, Collection<TypedRecord, never, never, never>>>;

/** What the records of all types have. */
type TypedRecord = Omit<GenericResource, 'type' | 'vault_id' | 'deleted_at'> & { readonly vault_id?: string };

export interface TypedBody {
  readonly type: ResourceType;
  readonly body: unknown;
}

export interface Resources
  extends Collection<GenericResource, TypedBody, (type: ResourceType) => unknown, MixedQuery> {
  restore(caller: Caller, id: string): Promise<GenericResource>;
}

const reads: readonly Action[] = ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'];
const writes: readonly Action[] = ['vaults:write', 'secrets:write', 'keys:write', 'certificates:write'];

export function resourcesWith({ guard }: Parts, shelf: Shelf, typed: TypedCollections): Resources {
  /** The mixed list shows all types, so it asks for the right to see each that it shows. */
  async function admitReads(caller: Caller, type: ResourceType | undefined): Promise<void> {
    const needed = type === undefined ? reads : [actionOn(type, 'read')];
    const missing = needed.find(action => !holds(caller, action));
    if (missing !== undefined) await guard.admit(caller, missing);
  }

  /** Which type an id is of shows once it is found; until then, whoever may change none is refused. */
  async function admitAnyWrite(caller: Caller): Promise<void> {
    if (!writes.some(action => holds(caller, action))) await guard.admit(caller, writes[0]!);
  }

  return {
    async list(caller, query) {
      await admitReads(caller, query.type);
      const { items, total } = await shelf.list(caller, null, query);
      return listOf(items.map(presentResource), total, query);
    },

    async get(caller, id) {
      await admitReads(caller, undefined);
      return presentResource(await shelf.labelled(await shelf.find(caller, null, id)));
    },

    async create(caller, { type, body }) {
      return presentTyped(type, await typed[type].create(caller, body as never));
    },

    async update(caller, id, bodyFor) {
      await admitAnyWrite(caller);
      const type = (await shelf.find(caller, null, id)).type as ResourceType;
      return presentTyped(type, await typed[type].update(caller, id, bodyFor(type) as never));
    },

    async remove(caller, id, purge) {
      await admitAnyWrite(caller);
      await shelf.remove(caller, null, id, purge);
    },

    async restore(caller, id) {
      await admitAnyWrite(caller);
      return presentResource(await shelf.restore(caller, id));
    },
  };
}

function presentTyped(type: ResourceType, record: TypedRecord): GenericResource {
  const { id, name, vault_id = null, tags, created_at, updated_at } = record;
  return { id, type, name, vault_id, tags, deleted_at: null, created_at, updated_at };
}

export function presentResource({ row, labels }: Labelled): GenericResource {
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
