/**
 * A game: two organizations are made alike but for what a caller may not know (values, or all that is in another vault), and
 * the same requests are made in both, over every route. A caller without the right must not be able to tell which of the
 * two it is in: by status, headers, body or counts. A caller with the right can, so the game can be lost.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Answer, enginesInTurn, type Service, startService } from './harness.ts';
import { modernCall } from './mcp-world.ts';

type World = 'one' | 'other';
interface Place {
  readonly key: string;
  readonly organizationId: string;
  /** Of what every caller sees. */
  readonly ids: Readonly<Record<string, string>>;
  readonly hidden: Readonly<Record<string, string>>;
  readonly callers: Readonly<Record<string, string>>;
}

const shown = new Set(['content-type', 'content-length', 'retry-after', 'x-ratelimit-remaining', 'allow']);
const id = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Of an answer, all that is the same for the same deed: ids by their order, without times and tokens. */
function told({ status, headers, text }: Answer): string {
  const order = new Map<string, number>();
  const body = text
    .replace(id, one => {
      if (!order.has(one)) order.set(one, order.size);
      return `id ${order.get(one)}`;
    })
    // A mount's accessor is the beginning of an id, which is a time.
    .replace(/"kv_[0-9a-f]{8}"/g, '"kv"')
    .replace(/world (?:one|other)/g, 'world')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
    .replace(/"last_used_at":(?:"time"|null)/g, '') // Written a moment later.
    .replace(/\bsr_[a-z]+_\w+/g, 'token')
    .replace(/[\w-]{43}|[\w-]{64,}/g, 'digest');
  const sent = [...headers].filter(([name]) => shown.has(name)).map(([name, value]) => `${name}: ${value}`);
  return [status, ...sent.filter(line => !line.startsWith('content-length')), body].join('\n');
}

type Asked = readonly [method: string, path: string, body?: unknown];
const nothing = '01999999-9999-7999-8999-999999999999';
/** What was done here stands in logs by right, and health is everybody's. */
const leftOut = /^\/v1\/(?:health|openapi|about|audit-|request-logs|logs)/;

/** Every route of the general API, for what the caller sees, for what it does not, and for nothing. */
function routed(route: string, { ids, hidden }: Place): Asked[] {
  const [method, path] = route.split(' ') as [string, string];
  if (!path.startsWith('/v1/') || leftOut.test(path) || !['GET', 'POST', 'PUT'].includes(method)) return [];
  const collection = path.split('/')[2]!;
  const given = path.includes(':') ? [ids[collection], hidden[collection], nothing] : [''];
  return given
    .filter(one => one !== undefined)
    .map(one => [method, path.replaceAll(/:\w+/g, one), method === 'GET' ? undefined : {}]);
}

/** What compares, searches or judges what is there. */
function judging({ ids, hidden }: Place): Asked[] {
  const items = ['ONE', 'HIDDEN', 'NONE'].map(name => ({ name, value: 'abc' }));
  const inVaults = [ids.vaults, hidden.vaults, nothing].flatMap((vault_id): Asked[] => [
    ['POST', '/v1/secrets/compare', { vault_id, items }],
    ['POST', '/v1/vaults/compare', { vault_ids: [ids.vaults, vault_id] }],
    ['GET', `/v1/secrets?vault_id=${vault_id}`],
    ['POST', '/v1/secrets', { vault_id, name: 'HIDDEN', value: '' }],
  ]);
  const ofSecrets = [ids.secrets, hidden.secrets, nothing].flatMap((secret_id): Asked[] => [
    ['POST', '/v1/use-rules/check', { secret_id, url: 'https://example.com/' }],
    ['POST', '/v1/secrets/reveal', { secret_ids: [secret_id] }],
    ['POST', '/v1/secrets/copy', { secret_ids: [secret_id], vault_id: ids.vaults }],
  ]);
  const searches = ['ONE', 'MORE', 'HIDDEN', 'abc', 'zzz'].map((q): Asked => ['GET', `/v1/secrets?q=${q}`]);
  return [...inVaults, ...ofSecrets, ...searches, ['GET', '/v1/resources?tag=team']];
}

/** The same in Vault's dialect. */
function inDialect(mount: string): Asked[] {
  const patches = [{ user: null }, { value: null }, { more: 'x'.repeat(64_700) }, { a: {} }];
  const ofNames = ['MAP', 'ONE', 'HIDDEN', 'NONE'].flatMap((name): Asked[] => [
    ...['data', 'metadata', 'subkeys'].map((verb): Asked => ['GET', `/vault/v1/${mount}/${verb}/${name}`]),
    ...patches.map((data): Asked => ['PATCH', `/vault/v1/${mount}/data/${name}`, { data }]),
  ]);
  return [
    ...ofNames,
    ['GET', `/vault/v1/${mount}/metadata/?list=true`],
    ['GET', `/vault/v1/sys/internal/ui/mounts/${mount}`],
  ];
}

/** What differs between the worlds, and which callers must not see it. */
const games = {
  values: {
    hides: ['reader of names', 'writer', 'admin', 'elsewhere'],
    tells: 'owner',
  },
  'another vault': { hides: ['elsewhere', 'revealer of one vault'], tells: 'owner' },
} as const;

for (const engine of enginesInTurn(import.meta.url)) {
  for (const [difference, { hides, tells }] of Object.entries(games)) {
    describe(`two worlds that differ in ${difference}, on ${engine}`, () => {
      let service: Service;
      let worlds: Record<World, Place>;

      async function make(world: World): Promise<Place> {
        const { key, organizationId } = await service.organization(`world ${world}`, 'enterprise');
        const create = async (path: string, body: object) => {
          const { status, body: made, text } = await service.call('POST', `/v1/${path}`, body, key);
          assert.equal(status, 200, text);
          return made;
        };
        const differs = world === 'other';
        const value = (text: string, length: number) =>
          difference === 'values' && differs ? 'z'.repeat(length) : text;
        const vault = (await create('vaults', { name: 'seen' })).id;
        const secret = (await create('secrets', { vault_id: vault, name: 'ONE', value: value('abc', 900) }))
          .id;
        const json = value('{"user":"a"}', 12);
        await create('secrets', {
          vault_id: vault,
          name: 'MAP',
          value: json,
          content_type: 'application/json',
        });
        await create('secrets', { vault_id: vault, name: 'SAME', value: value('abc', 3) });
        const hiddenVault = (await create('vaults', { name: 'hidden' })).id;
        const hiddenSecret = await create('secrets', {
          vault_id: hiddenVault,
          name: 'HIDDEN',
          value: value('abc', 3),
        });
        if (difference === 'another vault' && differs) {
          for (const name of ['MORE', 'ONE', 'SAME'])
            await create('secrets', { vault_id: hiddenVault, name, value: 'x', tags: { team: 'payments' } });
          await create('access-keys', { vault_id: hiddenVault, name: 'k', rate_limit: 5 });
          for (let at = 0; at < 5; at++) await service.call('GET', '/v1/secrets', undefined, key);
        }
        const scopes = ['organization:read', 'vaults:read', 'secrets:read'];
        const one = { name: 'caller', vault_ids: [vault] };
        const apiKey = async (body: object) => {
          service.clock.pass(1_000); // Lists are in the order of these moments.
          return (await create('api-keys', body)).token;
        };
        return {
          key,
          organizationId,
          ids: { vaults: vault, secrets: secret, resources: secret },
          hidden: { vaults: hiddenVault, secrets: hiddenSecret.id, resources: hiddenSecret.id },
          callers: {
            owner: key,
            'reader of names': await apiKey({ ...one, role: 'viewer' }),
            writer: await apiKey({ ...one, role: 'editor', scopes: [...scopes, 'secrets:write'] }),
            admin: await apiKey({ name: 'admin', role: 'admin' }),
            elsewhere: await apiKey({ ...one, role: 'editor', scopes }),
            'revealer of one vault': await apiKey({ ...one, role: 'editor' }),
          },
        };
      }

      before(async () => {
        service = await startService({ engine });
        service.clock.standInNewMinute();
        worlds = { one: await make('one'), other: await make('other') };
      });
      after(() => service.stop());

      async function playedBy(caller: string, world: World): Promise<string[]> {
        const place = worlds[world];
        const answers: string[] = [];
        for (const [method, path, body] of [
          ...[...service.routes].sort().flatMap(route => routed(route, place)),
          ...judging(place),
          ...['seen', 'hidden', 'none', 'secret'].flatMap(inDialect),
        ]) {
          service.clock.pass(4_000); // Many equal refusals in a minute would be gathered, which takes its time.
          const answer = await service.call(method, path, body, place.callers[caller]!);
          const named = path.replace(id, 'id');
          answers.push(
            `${method} ${named} ${JSON.stringify(body ?? '')
              .replace(id, 'id')
              .slice(0, 80)}\n${told(answer)}`,
          );
        }
        return answers;
      }

      for (const caller of hides) {
        it(`cannot be told apart by a caller who is ${caller}`, async () => {
          const one = await playedBy(caller, 'one');
          const other = await playedBy(caller, 'other');
          assert.ok(one.length > 150, String(one.length));
          const differing = one.flatMap((answer, at) => (answer === other[at] ? [] : [[answer, other[at]]]));
          assert.deepEqual(differing.slice(0, 5), [], `${differing.length} of ${one.length}`);
        });
      }

      it('cannot be told apart by an access key that sees names alone', async () => {
        const seen: Record<World, string[]> = { one: [], other: [] };
        for (const world of ['one', 'other'] as const) {
          const { key, ids } = worlds[world];
          const given = { vault_id: ids.vaults, name: 'agent', names_only: true };
          const { token } = (await service.call('POST', '/v1/access-keys', given, key)).body;
          const ask = async (path: string) =>
            seen[world].push(told(await service.call('GET', path, undefined, token)));
          for (const query of [
            '',
            '?secrets=names',
            '?format=map',
            '?name=ONE',
            '?name=HIDDEN',
            '?name=NONE',
          ])
            await ask(`/api/v1/vaults/self${query}`);
          for (const name of ['ONE', 'MAP', 'HIDDEN', 'NONE']) await ask(`/vault/v1/secret/data/${name}`);
          for (const [tool, args] of [
            ['secrets.search', { name: 'abc' }],
            ['secrets.search', { tag: 'team' }],
            ['secrets.get', { name: 'ONE' }],
            ['secrets.get', { name: 'HIDDEN' }],
            ['secrets.list', {}],
          ] as const)
            seen[world].push(told(await modernCall(service.url, tool, args, { key: token })));
        }
        assert.deepEqual(seen.one, seen.other);
      });

      it(`are told apart by the ${tells}, who may`, async () => {
        assert.notDeepEqual(await playedBy(tells, 'one'), await playedBy(tells, 'other'));
      });
    });
  }
}
