/** The five routes of a collection, declared once. */
import type { z } from 'zod';
import type { Action } from '../access/policy.ts';
import { deleteQuery, deletion, type List, listOf, type PageQuery } from '../contract/common.ts';
import type { Collection } from '../vault/collection.ts';
import type { Call, Route } from './route.ts';

export interface CollectionSchemas {
  readonly item: z.ZodType;
  readonly query: z.ZodType;
  readonly create: z.ZodType;
  readonly update: z.ZodType;
}

export interface CollectionDeclaration {
  /** As in the path: `access-keys`. */
  readonly name: string;
  /** As in a sentence: `an access key`. */
  readonly one: string;
  readonly schemas: CollectionSchemas;
  readonly service: Collection<unknown, never, never, never>;
  /** The scopes that reading and writing take; the collection's own by default. */
  readonly reads?: Route['needs'];
  readonly writes?: Route['needs'];
  /** Whether a delete goes to the trash, and `purge` is possible. */
  readonly trash?: boolean;
}

export function collectionRoutes(declaration: CollectionDeclaration): Route[] {
  const { name, one, schemas, service, trash = false } = declaration;
  const reads = declaration.reads ?? { all: [`${name}:read` as Action] };
  const writes = declaration.writes ?? { all: [`${name}:write` as Action] };
  const all = `/v1/${name}`;
  const single = `${all}/{id}`;
  return [
    {
      method: 'GET',
      path: all,
      tag: name,
      summary: `List ${name.replace('-', ' ')}, newest first`,
      needs: reads,
      query: schemas.query,
      answer: listOf(schemas.item),
      handle: async call => withLink(call, await service.list(call.caller, call.query)),
    },
    {
      method: 'GET',
      path: single,
      tag: name,
      summary: `Get ${one}`,
      needs: reads,
      answer: schemas.item,
      handle: ({ caller, id }) => service.get(caller, id),
    },
    {
      method: 'POST',
      path: all,
      tag: name,
      summary: `Create ${one}`,
      needs: writes,
      body: schemas.create,
      answer: schemas.item,
      handle: ({ caller, body }) => service.create(caller, body),
    },
    {
      method: 'PUT',
      path: single,
      tag: name,
      summary: `Change ${one}: members that are left out stay as they are`,
      needs: writes,
      body: schemas.update,
      answer: schemas.item,
      handle: ({ caller, id, body }) => service.update(caller, id, body),
    },
    {
      method: 'DELETE',
      path: single,
      tag: name,
      summary: trash ? `Delete ${one}; it can be restored for 30 days` : `Delete ${one}`,
      needs: writes,
      ...(trash ? { query: deleteQuery } : {}),
      answer: deletion,
      handle: async ({ caller, id, query }) => {
        await service.remove(caller, id, (query as { purge?: boolean } | undefined)?.purge ?? false);
        return { id, deleted: true };
      },
    },
  ];
}

/** The way to the next page, which stays stable: it lists nothing newer than what the first page began with. */
function withLink(call: Call, list: List<unknown>): List<unknown> {
  const { total, page, limit } = list.pagination;
  const newest = (list.data[0] as { id?: string } | undefined)?.id;
  if (page * limit >= total || newest === undefined) return list;
  const next = new URL(call.url, 'http://strongroom');
  next.searchParams.set('page', String(page + 1));
  next.searchParams.set('limit', String(limit));
  const asOf = (call.query as PageQuery).as_of ?? (page === 1 ? newest : undefined);
  if (asOf !== undefined) next.searchParams.set('as_of', asOf);
  call.reply.header('link', `<${next.pathname}${next.search}>; rel="next"`);
  return list;
}
