/** Names that people would take for each other are accepted with a warning, in every collection of names. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { trustedCaller } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import { skeletonOf } from '../src/contract/look-alikes.ts';
import { looksAlikeWith } from '../src/domain/resources/look-alikes.ts';
import { authorityBody } from './authorities-world.ts';
import { Document, type Json } from './document.ts';
import { type Answer, enginesInTurn, type Service, startService } from './harness.ts';

/** What people take for each letter, small and capital: some of what Unicode lists, from several scripts. */
const twins: Readonly<Record<string, string>> = {
  a: 'аα𝐚',
  c: 'сϲ',
  e: 'е',
  h: 'һ',
  i: 'іιı1l|',
  j: 'ј',
  k: 'κк',
  l: 'ӏ1I|',
  o: 'оο0σ',
  p: 'рρ',
  s: 'ѕ',
  v: 'ν',
  x: 'хχ',
  y: 'у',
  A: 'ΑАＡ',
  B: 'ΒВ',
  C: 'СϹ',
  E: 'ΕЕ',
  H: 'ΗН',
  I: 'ΙІl1',
  J: 'Ј',
  K: 'ΚКK',
  M: 'ΜМ',
  N: 'Ν',
  O: 'ΟО0',
  P: 'ΡР',
  S: 'Ѕ',
  T: 'ΤТ',
  X: 'ΧХ',
  Y: 'ΥУ',
  Z: 'Ζ',
};

it('names are taken for each other by every letter that has a twin, and by blanks that nobody sees', () => {
  for (const [letter, others] of Object.entries(twins))
    for (const other of others)
      assert.equal(skeletonOf(`x${letter}z`), skeletonOf(`x${other}z`), `${letter} ${escape(other)}`);
  for (const blank of ['prod ', ' prod', 'prod\u00a0']) assert.equal(skeletonOf(blank), skeletonOf('prod'));
  for (const [one, two] of [
    ['modern', 'modem'],
    ['eu west', 'eu  west'],
    ['a-b', 'a\u2010b'],
  ] as const)
    assert.equal(skeletonOf(one), skeletonOf(two));
  const apart = ['production', 'staging', 'DATABASE_URL', 'DATABASE_URL_2', '日本語', '日本', 'Ωμέγα'];
  assert.equal(new Set(apart.map(skeletonOf)).size, apart.length);
});

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`names that look like another one in the same space, on ${engine}`, () => {
    let service: Service;
    let document: Document;
    let one: Json;
    let other: Json;
    const alike: readonly (readonly [string, string])[] = [
      ['PAYROLL', 'P\u0410YROLL'],
      ['STRIPE_KEY', 'stripe_key'],
      ['TOKEN_1', 'TOKEN_l'],
      ['Résumé', 'Resume'],
      ['FULL', '\uff26\uff35\uff2c\uff2c'],
      ['HOST', '\u0397OST'],
    ];

    before(async () => {
      service = await startService({ engine });
      document = new Document((await service.call('GET', '/v1/openapi.json')).body);
      [one, other] = [await placesIn('one'), await placesIn('another')];
    });
    after(() => service.stop());

    /** A vault and what else a name can be in. */
    async function placesIn(name: string): Promise<Json> {
      const made = async (path: string, body: object) => (await service.call('POST', path, body)).body.id;
      const vault_id = await made('/v1/vaults', { name });
      const secret_id = await made('/v1/secrets', { vault_id, name: 'used', value: 'a value to be used' });
      const key_id = await made('/v1/keys', {
        vault_id,
        name: 'used',
        generate: { key_type: 'OKP', curve: 'Ed25519' },
      });
      const identity_id = await made('/v1/identities', { name, method: 'secret_id', vault_ids: [vault_id] });
      const authority_id = await made('/v1/authorities', authorityBody(vault_id, 'used'));
      return { vault_id, secret_id, key_id, identity_id, authority_id };
    }

    const warned = ({ headers }: Answer) => headers.get('strongroom-warning') !== null;

    /** What each collection takes beside the name, and whether a name is told apart by its vault or identity. */
    const bodies: Readonly<Record<string, readonly [body: (places: Json) => object, isWithin: boolean]>> = {
      vaults: [() => ({}), false],
      resources: [() => ({ type: 'vault' }), false],
      secrets: [({ vault_id }) => ({ vault_id, value: 'x' }), true],
      keys: [({ vault_id }) => ({ vault_id, generate: { key_type: 'OKP', curve: 'Ed25519' } }), true],
      certificates: [
        ({ vault_id, key_id }) => ({ vault_id, key_id, self_signed: { subject: 'CN=x' } }),
        true,
      ],
      'access-keys': [({ vault_id }) => ({ vault_id }), true],
      'public-tokens': [({ key_id }) => ({ key_id }), true],
      'api-keys': [() => ({ role: 'viewer' }), false],
      'secret-ids': [({ identity_id }) => ({ identity_id }), true],
      members: [() => ({ role: 'viewer' }), false],
      groups: [() => ({}), false],
      identities: [({ vault_id }) => ({ method: 'secret_id', vault_ids: [vault_id] }), false],
      webhooks: [() => ({ url: 'https://127.0.0.1/', events: ['resource.created'] }), false],
      stages: [({ vault_id }) => ({ vault_ids: [vault_id] }), false],
      issuers: [
        ({ vault_id }) => ({
          vault_id,
          provider: 'postgresql',
          connection: { url: 'postgres://admin:password@127.0.0.1:2/app' },
          template: { member_of: ['app'] },
        }),
        true,
      ],
      authorities: [({ vault_id }) => ({ vault_id, subject: 'CN=Root' }), true],
      profiles: [({ authority_id }) => ({ authority_id, allowed_names: ['*.internal.example'] }), true],
      'use-rules': [
        ({ secret_id }) => ({
          secret_id,
          hosts: ['api.example.com'],
          methods: ['GET'],
          paths: ['/*'],
          place: { type: 'header', name: 'authorization', prefix: 'Bearer ' },
        }),
        true,
      ],
    };

    /** What is created there has a purpose, which tells it from nothing else. */
    const nameless = ['runs'];

    it('are taken with a warning, in every collection of names', async () => {
      const creating = document.operations('/v1/').filter(({ method, path, value }) => {
        const [, collection = '', more] = /^\/v1\/([\w-]+)(.*)$/.exec(path) ?? [];
        return method === 'POST' && more === '' && value.requestBody !== undefined && collection !== '';
      });
      const all = creating.map(({ path }) => path.slice('/v1/'.length));
      for (const collection of nameless) {
        const { name, purpose } = document.requestSchema(
          creating.find(({ path }) => path === `/v1/${collection}`)!,
        ).properties;
        assert.deepEqual([name, typeof purpose], [undefined, 'object'], collection);
      }
      const collections = all.filter(collection => !nameless.includes(collection));
      assert.deepEqual(collections.toSorted(), Object.keys(bodies).toSorted());
      for (const collection of collections) await judge(collection);
    });

    async function judge(collection: string): Promise<void> {
      const [bodyIn, isWithin] = bodies[collection]!;
      const path = `/v1/${collection}`;
      const named = (name: string) =>
        collection === 'members' ? { email: `${name}@example.org`.replaceAll(' ', '') } : { name };
      const make = async (places: Json, name: string) => {
        const answer = await service.call('POST', path, { ...bodyIn(places), ...named(name) });
        assert.equal(answer.status, 200, `${collection} ${name}: ${answer.text}`);
        return answer;
      };
      const remove = (id: string) => service.call('DELETE', `${path}/${id}`);
      for (const [given, twin] of alike) {
        // Addresses that differ in case or width are one, and refused.
        if (collection === 'members' && /FULL|STRIPE/.test(given)) continue;
        const first = await make(one, given);
        assert.equal(warned(first), false, `${collection} ${given}`);
        if (isWithin) {
          const apart = await make(other, twin);
          assert.equal(warned(apart), false, `${collection} elsewhere`);
          await remove(apart.body.id);
        }
        const taken = await make(one, twin);
        assert.equal(warned(taken), true, `${collection} ${escape(twin)}`);
        assert.ok(!taken.headers.get('strongroom-warning')!.includes(given), 'it repeats no name');
        const change = (body: object) => service.call('PUT', `${path}/${taken.body.id}`, body);
        if (collection !== 'members') {
          assert.equal(warned(await change({ name: twin })), true, `${collection} as it is`);
          assert.equal(warned(await change({ name: `${twin} by itself` })), false, `${collection} apart`);
          assert.equal(warned(await change({ name: twin })), true, `${collection} back`);
        }
        assert.equal((await remove(first.body.id)).status, 200);
        if (collection !== 'members') assert.equal(warned(await change({ name: twin })), false, 'it is gone');
        assert.equal((await remove(taken.body.id)).status, 200);
      }
    }

    it('are said only where a name is given, and only to those who could list the names', async () => {
      const { vault_id } = one;
      const make = (name: string, key?: string) =>
        service.call('POST', '/v1/secrets', { vault_id, name, value: 'x' }, key);
      const { body: first } = await make('QUIET');
      await make('QU\u0399ET');
      assert.equal(warned(await service.call('PUT', `/v1/secrets/${first.id}`, { value: 'y' })), false);
      const scoped = async (...scopes: string[]) =>
        (await service.call('POST', '/v1/api-keys', { name: scopes.join(), role: 'editor', scopes })).body
          .token;
      const blind = await make('QU1ET', await scoped('secrets:write'));
      assert.deepEqual([blind.status, warned(blind)], [200, false]);
      assert.equal(warned(await make('QUlET', await scoped('secrets:write', 'secrets:read'))), true);
      const items = [{ vault_id, name: 'quiet', value: 'x' }];
      assert.equal(warned(await service.call('POST', '/v1/secrets/bulk', { items })), true);
      const harmless = [{ vault_id, name: 'nothing like it', value: 'x' }];
      assert.equal(warned(await service.call('POST', '/v1/secrets/bulk', { items: harmless })), false);
      const url = { url: 'https://127.0.0.1/', events: ['resource.created'] };
      await service.call('POST', '/v1/webhooks', url);
      assert.equal(
        warned(await service.call('POST', '/v1/webhooks', url)),
        false,
        'a name that nobody chose',
      );
    });
  });
}

describe('a warning', () => {
  it('is left out if the names can’t be read just then: the answer may contain a key that is shown once', async () => {
    const caller = trustedCaller('operator', 'one', 'operator', 'organization', 'request');
    const failing = (error: Error) =>
      looksAlikeWith({ store: { givenNames: { in: () => Promise.reject(error) } } as never, now: Date.now });
    const given = [{ id: 'one', name: 'deployment' }];
    assert.equal(await failing(new Failure('UNAVAILABLE'))(caller, 'api-keys', given), null);
    await assert.rejects(failing(new Error('a mistake of ours'))(caller, 'api-keys', given), /mistake/);
  });

  it('costs a read of the names only every five seconds, and misses no name given in this process', async () => {
    const caller = trustedCaller('operator', 'one', 'operator', 'organization', 'request');
    const names: { id: string; name: string }[] = [];
    let [time, reads] = [0, 0];
    const read = async () => {
      reads++;
      return [...names];
    };
    const looksAlike = looksAlikeWith({ store: { givenNames: { in: read } } as never, now: () => time });
    const give = async (name: string, vault_id = 'v') => {
      const given = { id: `${vault_id} ${name}`, name, vault_id };
      if (vault_id === 'v') names.push(given);
      return (await looksAlike(caller, 'secrets', [given])) !== null;
    };
    for (let at = 2; at < 100; at++) assert.equal(await give(`NAME_${at * 3}x`), false, String(at));
    assert.equal(reads, 1);
    assert.equal(await give('TOKEN_1'), false);
    assert.equal(await give('TOKEN_l'), true, 'a name of the last five seconds');
    names.length = 0;
    assert.equal(await give('TOKEN_I'), false, 'the others are gone');
    names.push({ id: 'elsewhere', name: 'REPLICA' }, { id: 'there too', name: 'RELEASE' });
    time = 4_999;
    assert.equal(await give('REP1ICA'), false, 'given by another replica');
    time = 5_000;
    assert.equal(await give('RE1EASE'), true);
    reads = 0;
    for (let at = 0; at < 15; at++) await give('x', `vault ${at}`);
    await give('y');
    assert.equal(reads, 15, 'sixteen vaults are remembered');
    await give('x', 'vault 15');
    await give('y2');
    assert.equal(reads, 17, 'and not one more');
  });
});
