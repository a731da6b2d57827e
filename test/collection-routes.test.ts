/** The five routes of a collection: what each needs, hands to its service and says beside its answer. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { pageQuery } from '../src/contract/common.ts';
import type { LooksAlike } from '../src/domain/resources/look-alikes.ts';
import { type CollectionDeclaration, collectionRoutes } from '../src/http/routes/collection.ts';
import type { Permissions, Route } from '../src/http/routes/route.ts';

const item = z.object({ id: z.string(), name: z.string(), version: z.int() });
const change = z.strictObject({ name: z.string().optional() });
const reads: Permissions = { all: ['vaults:read'] };
const writes: Permissions = { all: ['vaults:write'] };
const query = pageQuery.extend({ sort: z.string().optional() });
type Item = { id: string; name: string; version: number };
type Declaration = CollectionDeclaration<'vaults', Item, z.output<typeof query>, object, object, Item>;

/** A double of the service of a collection, which notes what it was asked for. */
function world(more: Partial<Declaration> & { list?: object; remark?: string | null } = {}) {
  const {
    list = { data: [], pagination: { total: 0, page: 1, limit: 20 } },
    remark = 'alike',
    ...own
  } = more;
  const calls: unknown[][] = [];
  const headers: Record<string, string> = {};
  const does =
    (name: string, answer: unknown) =>
    async (_caller: object, ...given: unknown[]) => {
      calls.push([name, ...given]);
      return answer;
    };
  const one = { id: 'i', type: 'secret' };
  const looksAlike = (async (_caller: object, collection: string, items: readonly { id: string }[]) => {
    calls.push(['looksAlike', collection, items.map(({ id }) => id)]);
    return remark;
  }) as LooksAlike;
  const routes = collectionRoutes(looksAlike, {
    name: 'vaults',
    one: 'a vault',
    item,
    query,
    create: z.object({}),
    update: change,
    service: {
      list: does('list', list),
      get: does('get', one),
      create: does('create', one),
      update: does('update', one),
      remove: does('remove', undefined),
    },
    ...own,
  } as unknown as Declaration);
  const [listing, getting, creating, updating, deleting] = routes as [
    Route<Permissions>,
    Route<Permissions>,
    Route<Permissions>,
    Route<Permissions>,
    Route<Permissions>,
  ];
  const reply = {
    header: (name: string, value: string) => {
      headers[name] = value;
    },
  } as unknown as FastifyReply;
  const handle = (route: Route<Permissions>, call: object) =>
    route.handle({
      caller: {},
      permits: [{ action: `${own.name ?? 'vaults'}:${route.method === 'GET' ? 'read' : 'write'}` }],
      id: 'i',
      query: {},
      body: {},
      url: '/v1/vaults',
      askedAt: 0,
      reply,
      ...call,
    } as never);
  return { routes, listing, getting, creating, updating, deleting, handle, calls, headers };
}
const needsOf = (route: Route<Permissions>, sent: object) =>
  route.needsOf?.({ query: {}, body: {}, ...sent } as never);

describe('the routes of a collection', () => {
  it('have names by the rules of English', () => {
    const names = (name: string) =>
      world({ name }).routes.map(({ method, path, operationId }) => `${method} ${path} ${operationId}`);
    assert.deepEqual(names('access-keys'), [
      'GET /v1/access-keys listAccessKeys',
      'GET /v1/access-keys/{id} getAccessKey',
      'POST /v1/access-keys createAccessKey',
      'PUT /v1/access-keys/{id} updateAccessKey',
      'DELETE /v1/access-keys/{id} deleteAccessKey',
    ]);
    assert.match(names('identities')[1]!, / getIdentity$/);
  });

  const permissions: [
    more: Partial<Declaration>,
    expected: [
      list: Permissions,
      get: Permissions,
      create: Permissions,
      update: Permissions,
      remove: Permissions,
    ],
  ][] = [
    [{}, [reads, reads, writes, writes, writes]],
    [
      { name: 'keys' },
      [
        { all: ['keys:read'] },
        { all: ['keys:read'] },
        { all: ['keys:write'] },
        { all: ['keys:write'] },
        { all: ['keys:write'] },
      ],
    ],
    [
      { reads: { anyOf: ['keys:read'] } },
      [{ anyOf: ['keys:read'] }, { anyOf: ['keys:read'] }, writes, writes, writes],
    ],
    [
      { writes: { all: ['keys:write'] } },
      [reads, reads, { all: ['keys:write'] }, { all: ['keys:write'] }, { all: ['keys:write'] }],
    ],
    [
      { gives: { all: ['keys:write'] } },
      [reads, reads, { all: ['keys:write'] }, { all: ['keys:write'] }, writes],
    ],
  ];
  for (const [more, expected] of permissions)
    it(`need ${JSON.stringify(expected)}`, () => {
      const { routes, listing, creating } = world(more);
      assert.deepEqual(
        routes.map(({ needs }) => needs),
        expected,
      );
      assert.deepEqual([needsOf(listing, {}), needsOf(creating, {})], [expected[0], expected[2]]);
    });

  it('need what is asked for, where that decides', () => {
    const asked: Permissions = { all: ['secrets:read'] };
    const { listing, creating } = world({ listNeeds: () => asked, createNeeds: () => asked });
    assert.deepEqual([needsOf(listing, {}), needsOf(creating, {})], [asked, asked]);
  });

  it('hand what was sent to the service, and delete for good only where there is a trash and it is asked for', async () => {
    const { getting, updating, deleting, handle, calls } = world();
    await handle(getting, {});
    await handle(updating, { body: { version: 1 } });
    assert.deepEqual(await handle(deleting, { query: { purge: true } }), { id: 'i', deleted: true });
    assert.deepEqual(
      [calls, deleting.query],
      [
        [
          ['get', 'i'],
          ['update', 'i', { version: 1 }],
          ['remove', 'i', false],
        ],
        undefined,
      ],
    );
    const trash = world({ trash: true });
    for (const purge of [true, false]) await trash.handle(trash.deleting, { query: { purge } });
    assert.deepEqual(trash.calls, [
      ['remove', 'i', true],
      ['remove', 'i', false],
    ]);
    assert.notEqual(trash.deleting.query, undefined);
  });

  it('are not handled with a permit for something else', async () => {
    const { getting, updating, handle, calls } = world();
    const permits = [{ action: 'keys:write' }];
    await assert.rejects(async () => handle(getting, { permits }), /is none for vaults:read/);
    await assert.rejects(async () => handle(updating, { permits }), /is none for vaults:write/);
    assert.deepEqual(calls, []);
  });

  it('take read-only members back as they are', async () => {
    const { updating } = world();
    assert.deepEqual(updating.readOnly!.members, new Set(['id', 'version']));
    assert.deepEqual(await updating.readOnly!.shown({ permits: [{ action: 'vaults:read' }] } as never, 'i'), {
      id: 'i',
      type: 'secret',
    });
    assert.deepEqual(
      world({ changes: [z.object({ version: z.int() })] }).updating.readOnly!.members,
      new Set(['id', 'name']),
    );
  });

  const warnings: [name: string, body: object, collection: string | null][] = [
    ['vaults', { name: 'x' }, 'vaults'],
    ['vaults', { version: 1 }, null],
    ['members', { email: 'a@example.org' }, 'members'],
    ['resources', { name: 'x' }, 'secrets'],
    ['webhook-deliveries', { name: 'x' }, null],
  ];
  for (const [name, body, collection] of warnings)
    it(`warn of ${JSON.stringify(body)} in ${name}: ${collection}`, async () => {
      const { creating, updating, handle, calls, headers } = world({ name });
      for (const route of [creating, updating]) await handle(route, { body });
      const compared = calls.filter(([called]) => called === 'looksAlike');
      assert.deepEqual(compared, collection === null ? [] : Array(2).fill(['looksAlike', collection, ['i']]));
      assert.deepEqual(Object.values(headers), collection === null ? [] : ['alike']);
    });

  it('warn of nothing where no name looks alike', async () => {
    const { creating, handle, headers } = world({ remark: null });
    await handle(creating, { body: { name: 'x' } });
    assert.deepEqual(headers, {});
  });

  const data = [{ id: 'newest' }, { id: 'older' }];
  const links: [
    of: string,
    pagination: object,
    sent: object,
    url: string,
    rows: object[],
    link: string | undefined,
  ][] = [
    [
      'a first page',
      { total: 3, page: 1, limit: 2 },
      {},
      '/v1/vaults?limit=2',
      data,
      '/v1/vaults?limit=2&page=2&as_of=newest',
    ],
    [
      'a first page with a search',
      { total: 3, page: 1, limit: 2 },
      {},
      '/v1/vaults?q=a',
      data,
      '/v1/vaults?q=a&page=2&limit=2&as_of=newest',
    ],
    [
      'a second page',
      { total: 5, page: 2, limit: 2 },
      { as_of: 'first' },
      '/v1/vaults',
      data,
      '/v1/vaults?page=3&limit=2&as_of=first',
    ],
    [
      'a second page without the first',
      { total: 5, page: 2, limit: 2 },
      {},
      '/v1/vaults',
      data,
      '/v1/vaults?page=3&limit=2',
    ],
    [
      'a sorted page',
      { total: 3, page: 1, limit: 2 },
      { sort: 'name' },
      '/v1/vaults',
      data,
      '/v1/vaults?page=2&limit=2',
    ],
    ['the last page', { total: 2, page: 1, limit: 2 }, {}, '/v1/vaults', data, undefined],
    ['the last page of two', { total: 4, page: 2, limit: 2 }, {}, '/v1/vaults', data, undefined],
    [
      'one before the last',
      { total: 5, page: 2, limit: 2 },
      { as_of: 'x' },
      '/v1/vaults',
      data,
      '/v1/vaults?page=3&limit=2&as_of=x',
    ],
    ['an empty page', { total: 5, page: 1, limit: 2 }, {}, '/v1/vaults', [], undefined],
  ];
  for (const [of, pagination, sent, url, rows, link] of links)
    it(`link from ${of} to ${link}`, async () => {
      const { listing, handle, headers } = world({ list: { data: rows, pagination } });
      await handle(listing, { query: sent, url });
      assert.equal(headers.link, link === undefined ? undefined : `<${link}>; rel="next"`);
    });
});
