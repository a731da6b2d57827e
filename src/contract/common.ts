/** Schemas that all collections share: pages, lists, deletions and errors. */
import { z } from 'zod';
import { exampleId, id, line, queryInteger, timestamp } from './text.ts';

export const pageNumber = queryInteger(1, 999_999_999)
  .default(1)
  .meta({ description: 'The page, starting at 1.', default: 1 });
export const pageLimit = queryInteger(1, 100)
  .default(20)
  .meta({ description: 'Records per page.', default: 20 });

export const pageQuery = z.strictObject({
  page: pageNumber,
  limit: pageLimit,
  as_of: id
    .optional()
    .describe(
      'Lists nothing newer than this id. The `Link` header of a first page carries it, so that pages stay stable.',
    ),
});

export const searchQuery = pageQuery.extend({
  q: line(1, 255).optional().describe('Part of a name, case-insensitive.'),
});

export type PageQuery = z.output<typeof pageQuery>;
export type SearchQuery = z.output<typeof searchQuery>;

export const pagination = z
  .object({ total: z.int(), page: z.int(), limit: z.int() })
  .meta({ id: 'Pagination', example: { total: 1, page: 1, limit: 20 } });

export interface List<T> {
  readonly data: readonly T[];
  readonly pagination: { readonly total: number; readonly page: number; readonly limit: number };
}

export function listOf<Item extends z.ZodType>(
  item: Item,
): z.ZodType<List<z.output<Item>>, List<z.input<Item>>> {
  const { id: name } = z.globalRegistry.get(item) ?? {};
  const list = z.object({ data: z.array(item), pagination });
  return name === undefined ? list : list.meta({ id: `${name}List` });
}

export const deletion = z.object({ id, deleted: z.literal(true) }).meta({
  id: 'Deletion',
  description: 'The record was deleted or moved to the trash.',
  example: { id: exampleId, deleted: true },
});

export const deleteQuery = z.strictObject({
  purge: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default('false')
    .transform(text => text === 'true')
    .describe('Deletes permanently. Otherwise the resource can be restored for 30 days.'),
});

export const errorBody = z
  .object({
    error: z.object({
      code: z.string(),
      message: z.string(),
      details: z.object({ field: z.string(), reason: z.string() }),
    }),
  })
  .meta({
    id: 'Error',
    example: {
      error: {
        code: 'INVALID_REQUEST',
        message: 'The request is not valid',
        details: { field: 'name', reason: 'must be 1 to 255 characters long' },
      },
    },
  });

export const health = z
  .object({ status: z.enum(['ok', 'sealed', 'degraded']), version: z.string() })
  .meta({ id: 'Health', example: { status: 'ok', version: '0.1.0' } });

export const recordTimes = { created_at: timestamp, updated_at: timestamp };
