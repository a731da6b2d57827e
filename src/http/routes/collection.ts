/** The five routes of a collection, declared once. A service that does not match the schemas does not compile. */
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { deleteQuery, deletion, type List, listOf, type PageQuery } from '../../contract/common.ts';
import { warningHeader } from '../../contract/look-alikes.ts';
import type { Collection, Noun } from '../../domain/kernel/collection.ts';
import { permitFor } from '../../domain/kernel/permits.ts';
import { isNamed, type LooksAlike, type Named } from '../../domain/resources/look-alikes.ts';
import { readOnlyMembers, type Shape } from '../listener/read-only.ts';
import { deletedAfter, type Permissions, type PermitsFor, type Route, route } from './route.ts';

interface Identified {
  readonly id: string;
}

export interface CollectionDeclaration<
  N extends Noun,
  Item,
  Query extends PageQuery,
  Create,
  Update,
  Created,
> {
  /** The name in the path: `access-keys`. */
  readonly name: string;
  /** The noun for a sentence: `an access key`. */
  readonly one: string;
  readonly item: z.ZodType<unknown, Item> & Shape;
  readonly query: z.ZodType<Query>;
  readonly create: z.ZodType<Create>;
  readonly update: z.ZodType<Update> & Shape;
  /** The answer to a creation, if it includes a value that is never shown again; by default the item. */
  readonly created?: z.ZodType<unknown, Created>;
  readonly service: Collection<
    N,
    NoInfer<Item>,
    NoInfer<Create>,
    NoInfer<Update>,
    NoInfer<Query>,
    NoInfer<Created>
  >;
  /** The schemas of an update, if the type of the stored item decides which one applies. */
  readonly changes?: readonly Shape[];
  /** The nouns in the names of its permissions; its own name by default. */
  readonly nouns?: readonly N[];
  /** The permissions for reading and writing, if a single one is not enough. */
  readonly reads?: Permissions;
  readonly writes?: Permissions;
  /** The permissions for creating and updating, if they require more than deleting. */
  readonly gives?: Permissions;
  /** The permissions for listing and creating, if they depend on the request. */
  readonly listNeeds?: (query: NoInfer<Query>) => Permissions;
  readonly createNeeds?: (body: NoInfer<Create>) => Permissions;
  /** Whether a delete goes to the trash, and `purge` is possible. */
  readonly trash?: boolean;
}

/** `looksAlike` warns of a name that people could mistake for another one. */
export function collectionRoutes<
  N extends Noun,
  Item extends Identified,
  Query extends PageQuery,
  Create,
  Update,
  Created extends Identified = Item,
>(
  looksAlike: LooksAlike,
  declaration: CollectionDeclaration<N, Item, Query, Create, Update, Created>,
): Route<Permissions>[] {
  const { name, one, item, service, listNeeds, createNeeds, trash = false } = declaration;
  const nouns = declaration.nouns ?? [name as N];
  const toRead = nouns.map(noun => `${noun}:read` as const);
  const toWrite = nouns.map(noun => `${noun}:write` as const);
  const reads: Permissions = declaration.reads ?? { all: [toRead[0]!] };
  const writes: Permissions = declaration.writes ?? { all: [toWrite[0]!] };
  const gives = declaration.gives ?? writes;
  const reading = ([permit]: Permits) => permitFor(permit, ...toRead);
  const writing = ([permit]: Permits) => permitFor(permit, ...toWrite);
  const all = `/v1/${name}`;
  const single = `${all}/{id}`;
  const plural = pascal(name);
  const noun = singular(plural);
  const warn = warnerWith(name, looksAlike);
  return [
    route(`GET ${all}`, {
      operationId: `list${plural}`,
      summary: `List ${name.replace('-', ' ')}, newest first`,
      needs: reads,
      needsOf: ({ query }) => listNeeds?.(query) ?? reads,
      query: declaration.query,
      answer: listOf(item),
      handle: async ({ permits, query, reply, url }) => {
        const list = await service.list(reading(permits), query);
        linkNext(reply, url, list, query);
        return list;
      },
    }),
    route(`GET ${single}`, {
      operationId: `get${noun}`,
      summary: `Get ${one}`,
      needs: reads,
      answer: item,
      handle: ({ permits, id }) => service.get(reading(permits), id),
    }),
    route(`POST ${all}`, {
      operationId: `create${noun}`,
      summary: `Create ${one}`,
      needs: gives,
      needsOf: ({ body }) => createNeeds?.(body) ?? gives,
      body: declaration.create,
      answer: declaration.created ?? item,
      handle: async ({ caller, permits, body, reply }) => {
        const created = await service.create(writing(permits), body);
        await warn(reply, caller, body, created);
        return created;
      },
    }),
    route(`PUT ${single}`, {
      operationId: `update${noun}`,
      summary: `Update ${one}; omitted fields keep their values, and read-only fields may be sent unchanged`,
      needs: gives,
      body: declaration.update,
      readOnly: {
        members: readOnlyMembers(item, ...(declaration.changes ?? [declaration.update])),
        needs: reads,
        shown: ({ permits }, id) => service.get(reading(permits), id),
      },
      answer: item,
      handle: async ({ caller, permits, id, body, reply }) => {
        const updated = await service.update(writing(permits), id, body);
        await warn(reply, caller, body, updated);
        return updated;
      },
    }),
    route(`DELETE ${single}`, {
      operationId: `delete${noun}`,
      summary: `Delete ${one}${trash ? '; it can be restored for 30 days' : ''}`,
      needs: writes,
      ...(trash ? { query: deleteQuery } : {}),
      answer: deletion,
      handle: ({ permits, id, query }) =>
        deletedAfter(id, service.remove(writing(permits), id, trash && query.purge)),
    }),
  ];
}

/** Warns only if the request contains a name, not for a generated or unchanged one. */
function warnerWith(name: string, looksAlike: LooksAlike) {
  return async (reply: FastifyReply, caller: Caller, body: unknown, item: Named & { type?: unknown }) => {
    const sent = body as object; // By its schema.
    const isGiven = 'name' in sent || 'email' in sent;
    const collection = name === 'resources' ? `${item.type}s` : name;
    if (isGiven && isNamed(collection)) warn(reply, await looksAlike(caller, collection, [item]));
  };
}

export function warn(reply: FastifyReply, remark: string | null): void {
  if (remark !== null) reply.header(warningHeader, remark);
}

type Permits = PermitsFor<Permissions>;

/** `access-keys` becomes `AccessKeys`. */
function pascal(name: string): string {
  return name.replace(/(?:^|-)(.)/g, (_, letter: string) => letter.toUpperCase());
}

function singular(plural: string): string {
  return plural.endsWith('ies') ? `${plural.slice(0, -3)}y` : plural.slice(0, -1);
}

/** Links to the next page, which is stable: it contains nothing newer than the first item of the first page. */
function linkNext(reply: FastifyReply, url: string, list: List<Identified>, query: PageQuery): void {
  const { total, page, limit } = list.pagination;
  const newest = list.data[0]?.id;
  if (page * limit >= total || newest === undefined) return;
  const next = new URL(url, 'http://strongroom');
  next.searchParams.set('page', String(page + 1));
  next.searchParams.set('limit', String(limit));
  // With `sort`, the first item of a page is not the newest.
  const { sort } = query as { readonly sort?: unknown };
  const asOf = query.as_of ?? (page === 1 && sort === undefined ? newest : undefined);
  if (asOf !== undefined) next.searchParams.set('as_of', asOf);
  reply.header('link', `<${next.pathname}${next.search}>; rel="next"`);
}
