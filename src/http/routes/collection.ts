/** The five routes of a collection, declared once. A service that does not fit the schemas does not compile. */

import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import type { Action } from '../../access/policy.ts';
import {
  deleteQuery,
  deletion,
  deletionOf,
  type List,
  listOf,
  type PageQuery,
} from '../../contract/common.ts';
import { warningHeader } from '../../contract/look-alikes.ts';
import type { Collection } from '../../domain/kernel/collection.ts';
import { readOnlyMembers, type Shape } from '../read-only.ts';
import { type Permissions, type Route, route } from './route.ts';

interface Identified {
  readonly id: string;
}

export interface CollectionDeclaration<Item, Query extends PageQuery, Create, Update, Created> {
  /** As in the path: `access-keys`. */
  readonly name: string;
  /** As in a sentence: `an access key`. */
  readonly one: string;
  readonly schemas: {
    readonly item: z.ZodType<unknown, Item> & Shape;
    readonly query: z.ZodType<Query>;
    readonly create: z.ZodType<Create>;
    readonly update: z.ZodType<Update> & Shape;
    /** What creating one answers: the item, or the item with what is never shown again. */
    readonly created: z.ZodType<unknown, Created>;
  };
  readonly service: Collection<
    NoInfer<Item>,
    NoInfer<Create>,
    NoInfer<Update>,
    NoInfer<Query>,
    NoInfer<Created>
  >;
  /** What an update may hold, where its schema leaves that to the type of what is stored. */
  readonly changes?: readonly Shape[];
  /** The permissions that reading and writing take; the collection's own by default. */
  readonly reads?: Permissions;
  readonly writes?: Permissions;
  /** What making and changing one takes, where that is more than deleting it. */
  readonly gives?: Permissions;
  /** What a list or a creation takes, where that depends on what it asks for. */
  readonly listNeeds?: (query: NoInfer<Query>) => Permissions;
  readonly createNeeds?: (body: NoInfer<Create>) => Permissions;
  /** What the person should know about the name that was given; null where there is nothing. */
  readonly remark?: (item: NoInfer<Item> | NoInfer<Created>) => Promise<string | null>;
  /** Whether a delete goes to the trash, and `purge` is possible. */
  readonly trash?: boolean;
}

export function collectionRoutes<Item extends Identified, Query extends PageQuery, Create, Update, Created>(
  declaration: CollectionDeclaration<Item, Query, Create, Update, Created>,
): Route<Permissions>[] {
  const { name, one, schemas, service, listNeeds, createNeeds } = declaration;
  const reads = declaration.reads ?? { all: [`${name}:read` as Action] };
  const writes = declaration.writes ?? { all: [`${name}:write` as Action] };
  const gives = declaration.gives ?? writes;
  const all = `/v1/${name}`;
  const single = `${all}/{id}`;
  const plural = pascal(name);
  const noun = singular(plural);
  return [
    route({
      method: 'GET',
      path: all,
      operationId: `list${plural}`,
      tag: name,
      summary: `List ${name.replace('-', ' ')}, newest first`,
      needs: reads,
      needsOf: ({ query }) => listNeeds?.(query) ?? reads,
      query: schemas.query,
      answer: listOf(schemas.item),
      handle: async ({ caller, query, reply, url }) => {
        const list = await service.list(caller, query);
        linkNext(reply, url, list, query);
        return list;
      },
    }),
    route({
      method: 'GET',
      path: single,
      operationId: `get${noun}`,
      tag: name,
      summary: `Get ${one}`,
      needs: reads,
      answer: schemas.item,
      handle: ({ caller, id }) => service.get(caller, id),
    }),
    route({
      method: 'POST',
      path: all,
      operationId: `create${noun}`,
      tag: name,
      summary: `Create ${one}`,
      needs: gives,
      needsOf: ({ body }) => createNeeds?.(body) ?? gives,
      body: schemas.create,
      answer: schemas.created,
      handle: async ({ caller, body, reply }) => {
        const created = await service.create(caller, body);
        warn(reply, await declaration.remark?.(created));
        return created;
      },
    }),
    route({
      method: 'PUT',
      path: single,
      operationId: `update${noun}`,
      tag: name,
      summary: `Update ${one}; omitted fields keep their values, and read-only fields may be sent unchanged`,
      needs: gives,
      body: schemas.update,
      readOnly: {
        members: readOnlyMembers(schemas.item, ...(declaration.changes ?? [schemas.update])),
        shown: ({ caller }, id) => service.get(caller, id),
      },
      answer: schemas.item,
      handle: async ({ caller, id, body, reply }) => {
        const updated = await service.update(caller, id, body);
        const isNamed = typeof body === 'object' && body !== null && 'name' in body;
        if (isNamed) warn(reply, await declaration.remark?.(updated));
        return updated;
      },
    }),
    deleteRoute({ name, one, path: single, operationId: `delete${noun}`, needs: writes }, declaration),
  ];
}

function warn(reply: FastifyReply, remark: string | null | undefined): void {
  if (remark) reply.header(warningHeader, remark);
}

type Deleting = Pick<Route<Permissions>, 'path' | 'operationId' | 'needs'> & Record<'name' | 'one', string>;

function deleteRoute(
  { name, one, ...described }: Deleting,
  { service, trash }: Removing,
): Route<Permissions> {
  const shared = { method: 'DELETE', tag: name, answer: deletion, ...described } as const;
  if (!trash) {
    return route({
      ...shared,
      summary: `Delete ${one}`,
      handle: async ({ caller, id }) => {
        await service.remove(caller, id, false);
        return deletionOf(id);
      },
    });
  }
  return route({
    ...shared,
    summary: `Delete ${one}; it can be restored for 30 days`,
    query: deleteQuery,
    handle: async ({ caller, id, query }) => {
      await service.remove(caller, id, query.purge);
      return deletionOf(id);
    },
  });
}

interface Removing {
  readonly service: Pick<Collection<unknown, never, never>, 'remove'>;
  readonly trash?: boolean;
}

/** `access-keys` becomes `AccessKeys`. */
function pascal(name: string): string {
  return name.replace(/(?:^|-)(.)/g, (_, letter: string) => letter.toUpperCase());
}

function singular(plural: string): string {
  return plural.endsWith('ies') ? `${plural.slice(0, -3)}y` : plural.slice(0, -1);
}

/** The way to the next page, which stays stable: it lists nothing newer than what the first page began with. */
function linkNext(reply: FastifyReply, url: string, list: List<Identified>, query: PageQuery): void {
  const { total, page, limit } = list.pagination;
  const newest = list.data[0]?.id;
  if (page * limit >= total || newest === undefined) return;
  const next = new URL(url, 'http://strongroom');
  next.searchParams.set('page', String(page + 1));
  next.searchParams.set('limit', String(limit));
  // In another order than the newest first, the first of a page is not the newest.
  const isSorted = 'sort' in query && query.sort !== undefined;
  const asOf = query.as_of ?? (page === 1 && !isSorted ? newest : undefined);
  if (asOf !== undefined) next.searchParams.set('as_of', asOf);
  reply.header('link', `<${next.pathname}${next.search}>; rel="next"`);
}
