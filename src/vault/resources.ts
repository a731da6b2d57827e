/** All four types together: one list, and one place to make, change, delete and restore any of them. */
import type { Caller } from '../access/caller.ts';
import type { Action } from '../access/policy.ts';
import { holds } from '../access/policy.ts';
import { Failure } from '../contract/errors.ts';
import type { GenericResource, MixedQuery, ResourceType } from '../contract/resources.ts';
import { iso, isoOrNull } from '../contract/text.ts';
import { type Collection, listOf } from './collection.ts';
import type { Parts } from './parts.ts';
import { actionOn, type Labelled, type Shelf } from './shelf.ts';

/** A collection whose bodies were already checked against the schema of the type in question. */
export type TypedCollections = Readonly<Record<ResourceType, Collection<object, never, never, never>>>;

export interface TypedBody {
  readonly type: ResourceType;
  readonly body: unknown;
}

export interface Resources
  extends Collection<object, TypedBody, (type: ResourceType) => unknown, MixedQuery> {
  restore(caller: Caller, id: string): Promise<GenericResource>;
}

const reads: readonly Action[] = ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'];

export function resourcesWith({ guard }: Parts, shelf: Shelf, typed: TypedCollections): Resources {
  /** The mixed list shows all types, so it asks for the right to see each that it shows. */
  async function admitReads(caller: Caller, type: ResourceType | undefined): Promise<void> {
    const needed = type === undefined ? reads : [actionOn(type, 'read')];
    const missing = needed.find(action => !holds(caller, action));
    if (missing !== undefined) await guard.admit(caller, missing);
  }

  async function typeOf(caller: Caller, id: string, deleted = false): Promise<ResourceType> {
    return (await shelf.find(caller, null, id, deleted)).type as ResourceType;
  }

  return {
    async list(caller, query) {
      await admitReads(caller, query.type);
      const { items, total } = await shelf.list(caller, null, query);
      return listOf(items.map(presentResource), total, query);
    },

    async get(caller, id) {
      await admitReads(caller, undefined);
      return typed[await typeOf(caller, id)].get(caller, id);
    },

    async create(caller, { type, body }) {
      return typed[type].create(caller, body as never);
    },

    async update(caller, id, bodyFor) {
      const type = await typeOf(caller, id);
      return typed[type].update(caller, id, bodyFor(type) as never);
    },

    async remove(caller, id, purge) {
      if (!reads.some(action => holds(caller, action))) throw new Failure('FORBIDDEN');
      await shelf.remove(caller, null, id, purge);
    },

    async restore(caller, id) {
      return presentResource(await shelf.restore(caller, id));
    },
  };
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
