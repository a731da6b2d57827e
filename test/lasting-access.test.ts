/** What lasts takes a proof, and ends with what made it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Json } from './document.ts';
import { callService, enginesInTurn } from './harness.ts';
import {
  ask,
  commandLine,
  ends,
  giving,
  hour,
  type Maker,
  makers,
  minute,
  startLasting,
  survives,
  undecided,
  type World,
} from './lasting-world.ts';
import { type Browser, invite } from './people.ts';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`access that lasts, on ${engine}`, () => {
    let world: World;
    let owner: Browser;

    before(async () => {
      world = await startLasting(engine);
      owner = world.owner;
    });
    after(() => world.service.stop());

    const pass = (milliseconds: number) => world.service.clock.pass(milliseconds);
    const once = (method: string, path: string, body: unknown) => owner.once(method, path, body);
    const withKey = (method: string, path: string, body: unknown, key: string) =>
      callService(world.service.url, method, path, body, key);
    const ofPeople = Object.keys(giving).filter(route => route !== 'POST /vault/*');

    it('every route that changes something gives it, or gives nothing for a reason', () => {
      assert.deepEqual(undecided(world.service.routes), []);
      const routes = new Set(world.service.routes);
      assert.deepEqual(
        Object.keys(giving).filter(route => !routes.has(route)),
        [],
      );
    });

    it('no route gives it for a session alone', async () => {
      pass(5 * minute);
      for (const route of ofPeople) {
        const { status, body, text } = await ask(world, route, once);
        assert.equal(status, 403, `${route}: ${text}`);
        assert.equal(body.error.code, 'PROOF_REQUIRED', route);
      }
      for (const collection of ['api-keys', 'access-keys', 'identities', 'groups', 'webhooks', 'use-rules']) {
        const { text } = await owner.get(`/v1/${collection}`);
        assert.ok(!text.includes('given '), collection);
      }
    });

    it('a proof of the last five minutes is enough for all of it', async () => {
      pass(5 * minute);
      await owner.prove();
      pass(4 * minute);
      for (const route of ofPeople) {
        const { status, text } = await ask(world, route, once);
        assert.equal(status, 200, `${route}: ${text}`);
      }
      pass(minute);
      assert.equal((await once('POST', '/v1/api-keys', { name: 'late', role: 'viewer' })).status, 403);
    });

    it('so is having signed in by a password in the last five minutes', async () => {
      const browser = world.service.browser();
      await browser.signIn('owner@example.org');
      const body = { name: 'first', role: 'viewer' };
      assert.equal((await browser.once('POST', '/v1/api-keys', body)).status, 200);
      pass(5 * minute);
      assert.equal((await browser.once('POST', '/v1/api-keys', body)).status, 403);
    });

    it('an API key without an end gives all that a person can', async () => {
      const { body: key } = await owner.post('/v1/api-keys', { name: 'endless', role: 'owner' });
      for (const route of ofPeople.filter(one => one.includes(' /v1/'))) {
        const { status, text } = await ask(world, route, (...call) => withKey(...call, key.token));
        assert.equal(status, 200, `${route}: ${text}`);
      }
    });

    it('a command line gives what has no end within five minutes of its proof, and then asks for another', async () => {
      const of = await invite(world.service, owner, 'at-a-terminal@example.org', 'owner');
      const { send } = await commandLine(world, of);
      const undated = [
        'POST /v1/use-rules',
        'PUT /v1/use-rules/:id',
        'POST /v1/webhooks',
        'PUT /v1/webhooks/:id',
      ];
      for (const route of undated) assert.equal((await ask(world, route, send)).status, 200, route);
      pass(5 * minute);
      for (const route of undated) {
        const { status, body } = await ask(world, route, send);
        assert.deepEqual([status, body.error.code], [403, 'PROOF_REQUIRED'], route);
      }
    });

    it('no credential that a command line creates outlasts it, however recent its proof', async () => {
      const of = await invite(world.service, owner, 'creates-at-a-terminal@example.org', 'owner');
      const { send } = await commandLine(world, of);
      const bodies: readonly [string, object][] = [
        ['/v1/api-keys', { name: 'longer', role: 'viewer' }],
        ['/v1/access-keys', { name: 'longer', vault_id: world.vaultId }],
        ['/v1/public-tokens', { key_id: world.keyId }],
      ];
      for (const [path, body] of bodies) {
        const { status, text } = await send('POST', path, { ...body, expiration_date: null });
        assert.equal(status, 403, `${path}: ${text}`);
        const { body: made } = await send('POST', path, body);
        assert.ok(Date.parse(made.expiration_date) > world.service.clock.now(), path);
      }
    });

    it('an API key that expires is told why, and the refusal is in the audit log', async () => {
      const { send } = await makers['an API key that expires']!(world);
      const { status, body } = await ask(world, 'POST /v1/webhooks', send);
      assert.equal(status, 403);
      assert.match(body.error.message, /^An API key that expires can’t grant access that outlasts it/);
      const { body: log } = await owner.get('/v1/audit-logs?limit=1');
      const [{ action, outcome, details }] = log.data;
      assert.deepEqual(
        [action, outcome, details.reason],
        ['webhook.created', 'denied', 'outlasts its creator'],
      );
    });

    /** What the maker was given, and can be seen to work. */
    async function made(maker: Maker): Promise<Map<string, Json>> {
      const found = new Map<string, Json>();
      for (const route of Object.keys(giving)) {
        const { status, body } = await ask(world, route, maker.send);
        pass(2_000); // Refusals are counted by minutes.
        if (status !== 200) continue;
        assert.ok(giving[route]!.works, `${route}: gives what nobody looks after`);
        assert.ok(await giving[route]!.works(world, body), `${route}: works before its maker ends`);
        found.set(route, body);
      }
      return found;
    }

    const expected: Readonly<Record<string, number>> = {
      'a session': 0,
      'an API key that expires': 6,
      'an API key of an expiring one': 6,
      'a command line': 6,
      'an OAuth token': 1,
      'a restricted access key': 0,
    };

    for (const [who, make] of Object.entries(makers)) {
      for (const [how, end] of Object.entries(ends)) {
        const reason = survives[`${who}: ${how}`];
        const what = reason === undefined ? 'nothing works any more' : `goes on, because it ${reason}`;
        it(`of what ${who} made, after ${how} ${what}`, async () => {
          pass(minute);
          const maker = await make(world);
          const given = await made(maker);
          assert.equal(given.size, expected[who], [...given.keys()].join());
          assert.ok(await maker.works(), 'the maker works');
          await end(world, maker);
          assert.equal(await maker.works(), reason !== undefined, 'the maker');
          for (const [route, body] of given) {
            pass(minute);
            assert.equal(await giving[route]!.works!(world, body), reason !== undefined, route);
          }
        });
      }
    }

    it('a person sees in their settings what a command line of theirs created', async () => {
      const { member, send, revoke } = await makers['a command line']!(world);
      const names: string[] = [];
      for (const route of Object.keys(giving).filter(
        one => giving[one]!.works && one.startsWith('POST /v1/'),
      )) {
        const { body } = await ask(world, route, send);
        // The access key of a run is called what the run is for.
        names.push(body.name ?? body.purpose);
      }
      const { body } = await member.browser.get('/auth/device/keys');
      const [{ created }] = body.data;
      assert.deepEqual(created.map((one: Json) => one.name).sort(), names.sort());
      await revoke();
      assert.deepEqual((await member.browser.get('/auth/device/keys')).body.data, []);
    });

    it('nobody logs in by an identity or a secret id once what made it has ended', async () => {
      const { send, revoke } = await makers['a command line']!(world);
      const { body: identity } = await ask(world, 'POST /v1/identities', send);
      const { body: own } = await send('POST', '/v1/secret-ids', { identity_id: identity.id });
      const { body: owners } = await owner.post('/v1/secret-ids', { identity_id: identity.id });
      const { body: standing } = await ask(world, 'POST /v1/secret-ids', send);
      const login = async ({ identity_id, token: secret_id }: Json) =>
        (await callService(world.service.url, 'POST', '/api/v1/login', { identity_id, secret_id })).status;
      const all = () => Promise.all([own, owners, standing].map(login));
      assert.deepEqual(await all(), [200, 200, 200]);
      await revoke();
      assert.deepEqual(await all(), [401, 401, 401]);
    });

    it('what a maker that ends made can be renamed and restricted by it, and not made to last', async () => {
      for (const who of ['an API key that expires', 'a command line']) {
        const { send } = await makers[who]!(world);
        const { body: key } = await ask(world, 'POST /v1/access-keys', send);
        const change = (body: unknown) => send('PUT', `/v1/access-keys/${key.id}`, body);
        assert.equal((await change({ name: 'its own', names_only: true })).status, 200, who);
        for (const expiration_date of [null, new Date(world.service.clock.now() + 2 * hour).toISOString()]) {
          assert.equal((await change({ expiration_date })).status, 403, who);
          const byOwner = await owner.call('PUT', `/v1/access-keys/${key.id}`, { expiration_date });
          assert.equal(byOwner.status, 400, who);
        }
      }
    });

    it('what another made is not widened by a maker that ends, even if it ends sooner than the maker', async () => {
      const { send } = await makers['an API key that expires']!(world);
      const expiration_date = new Date(world.service.clock.now() + 5 * minute).toISOString();
      const own = { vault_id: world.vaultId, name: 'over soon', rate_limit: 1, expiration_date };
      const { body: key } = await owner.post('/v1/access-keys', own);
      const change = (body: unknown) => send('PUT', `/v1/access-keys/${key.id}`, body);
      assert.equal((await change({ rate_limit: 1_000 })).status, 403);
      assert.equal((await change({ name: 'renamed' })).status, 200);
    });

    it('renaming, disabling and revoking take no proof', async () => {
      pass(5 * minute);
      const { standing } = world;
      for (const collection of [
        'api-keys',
        'access-keys',
        'secret-ids',
        'webhooks',
        'use-rules',
        'public-tokens',
      ]) {
        const path = `/v1/${collection}/${standing[collection]}`;
        assert.equal((await owner.once('PUT', path, { name: 'renamed' })).status, 200, collection);
        if (collection === 'webhooks') {
          assert.equal((await owner.once('PUT', path, { enabled: false })).status, 200);
          assert.equal((await owner.once('PUT', path, { enabled: true })).status, 403);
        }
        assert.equal((await owner.once('DELETE', path)).status, 200, collection);
      }
      for (const collection of ['groups', 'members', 'identities']) {
        const answer = await owner.once('DELETE', `/v1/${collection}/${standing[collection]}`);
        assert.equal(answer.status, 200, collection);
      }
    });
  });
}
