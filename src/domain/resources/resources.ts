/** All four resource types together: one list, and one place to create, update, delete and restore any of them. */
import type { Caller } from '../../access/caller.ts';
import { holds, resourceReads, resourceWrites } from '../../access/policy.ts';
import type { GenericResource, MixedQuery, ResourceType } from '../../contract/resources.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { type Collection, listOf } from '../kernel/collection.ts';
import type { Permit } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Labelled } from './lookup.ts';
import type { Records } from './records.ts';
import { actionOn } from './subject.ts';
import { deletable } from './trash.ts';

/** A collection whose bodies were already checked against the schema of the type in question. */
type TypedCollections = Readonly<Record<ResourceType, Collection<TypedRecord, never, never, never>>>;

/** The fields that the records of all types have. */
type TypedRecord = Omit<GenericResource, 'type' | 'vault_id' | 'deleted_at'> & { readonly vault_id?: string };

interface TypedBody {
  readonly type: ResourceType;
  readonly body: unknown;
}

export interface Resources
  extends Collection<GenericResource, TypedBody, (type: ResourceType) => unknown, MixedQuery> {
  restore(caller: Caller, id: string): Promise<GenericResource>;
}

export function resourcesWith({ guard }: Parts, records: Records, typed: TypedCollections): Resources {
  /** The mixed list shows all types, so it requires the permission to read each type that it shows. */
  async function admitReads(caller: Caller, type?: ResourceType): Promise<Permit> {
    const [first, ...others] = type === undefined ? resourceReads : [actionOn(type, 'read')];
    return guard.admit(caller, first!, ...others);
  }

  /**
   * The type of an id is known only once it is found; until then, callers who may not change any type are refused.
   */
  function admitAnyWrite(caller: Caller): Promise<Permit> {
    return guard.admit(caller, resourceWrites.find(action => holds(caller, action)) ?? resourceWrites[0]!);
  }

  /** A row found that way may only be looked at: changing it requires the permit for its type. */
  async function admitWriteOf<T extends ResourceType>(caller: Caller, row: Pick<ResourceRow, 'type'>) {
    const type = row.type as T;
    return { type, permit: await guard.admit(caller, actionOn(type, 'write')) };
  }

  return {
    async list(caller, query) {
      const permit = await admitReads(caller, query.type);
      const { items, total } = await records.list(permit, null, query);
      return listOf(items.map(presentResource), total, query);
    },

    async get(caller, id) {
      const permit = await admitReads(caller);
      return presentResource(await records.labelled(await records.find(permit, null, id)));
    },

    async create(caller, { type, body }) {
      return presentTyped(type, await typed[type].create(caller, body as never));
    },

    async update(caller, id, bodyFor) {
      const found = await records.find(await admitAnyWrite(caller), null, id);
      const type = found.type as ResourceType;
      return presentTyped(type, await typed[type].update(caller, id, bodyFor(type) as never));
    },

    async remove(caller, id, purge) {
      const found = await records.find(await admitAnyWrite(caller), null, id, deletable(purge));
      const { permit, type } = await admitWriteOf(caller, found);
      await records.remove(permit, type, id, purge);
    },

    async restore(caller, id) {
      const found = await records.findRestorable(await admitAnyWrite(caller), null, id);
      const { permit, type } = await admitWriteOf(caller, found);
      return presentResource(await records.restore(permit, type, id));
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
