import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { engines } from './harness.ts';
import { type Browser, type EmptyService, setUp, startEmpty } from './people.ts';

const minute = 60_000;

/** What a session may change by itself: what it holds and what it takes away give nobody a way in. */
const free = /^DELETE |\/(vaults|secrets|keys|certificates|resources|organization)\b/;
/** The others that give none, and why. */
const harmless: Readonly<Record<string, string>> = {
  'POST /v1/public-tokens': 'shows the public half of a key, which is kept from nobody',
  'PUT /v1/public-tokens/:id': 'shows the public half of a key, which is kept from nobody',
  'POST /v1/use-rules': 'is good for nothing without an access key',
  'PUT /v1/use-rules/:id': 'is good for nothing without an access key',
  'POST /v1/use-rules/check': 'changes nothing',
  'POST /v1/webhooks': 'tells of changes, and of no value',
  'PUT /v1/webhooks/:id': 'tells of changes, and of no value',
  'POST /v1/webhooks/:id/test': 'tells of changes, and of no value',
  'POST /v1/webhooks/:id/rotate-secret': 'proves who sent an event',
  'POST /v1/webhook-deliveries/:id/redeliver': 'tells of changes, and of no value',
};

for (const engine of engines) {
  describe(`access that outlasts a session, on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;
    let ids: Readonly<Record<string, string>>;
    let bodies: Readonly<Record<string, () => unknown>>;

    const make = async (collection: string, body: unknown) => {
      const answer = await owner.post(`/v1/${collection}`, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body.id as string;
    };

    before(async () => {
      service = await startEmpty(engine);
      owner = await setUp(service);
      const vault_id = await make('vaults', { name: 'production' });
      const identity = { method: 'secret_id', vault_ids: [vault_id] };
      const identity_id = await make('identities', { ...identity, name: 'runner' });
      ids = {
        'api-keys': await make('api-keys', { name: 'ci', role: 'viewer' }),
        'access-keys': await make('access-keys', { name: 'app', vault_id }),
        'secret-ids': await make('secret-ids', { identity_id }),
        identities: identity_id,
        members: await make('members', { email: 'colleague@example.org', role: 'viewer' }),
        groups: await make('groups', { name: 'Team' }),
      };
      const later = new Date(service.clock.now() + 60 * minute).toISOString();
      bodies = {
        'POST /v1/api-keys': () => ({ name: 'thief', role: 'owner' }),
        'POST /v1/access-keys': () => ({ name: 'thief', vault_id }),
        'POST /v1/secret-ids': () => ({ identity_id }),
        'POST /v1/identities': () => ({ ...identity, name: 'thief' }),
        'POST /v1/members': () => ({ email: 'thief@example.org', role: 'owner' }),
        'POST /v1/members/:id/invitation': () => undefined,
        'POST /v1/groups': () => ({ name: 'thieves', member_ids: [ids.members] }),
        'PUT /v1/api-keys/:id': () => ({ expiration_date: later }),
        'PUT /v1/access-keys/:id': () => ({ max_uses: 5 }),
        'PUT /v1/secret-ids/:id': () => ({ expiration_date: later }),
        'PUT /v1/identities/:id': () => ({ lifetime: 900 }),
        'PUT /v1/members/:id': () => ({ role: 'owner' }),
        'PUT /v1/groups/:id': () => ({ member_ids: [ids.members] }),
      };
    });
    after(() => service.stop());

    const idFor = (route: string) => ids[route.split('/')[2]!]!;
    const giving = () =>
      [...service.routes].filter(
        route =>
          / \/v1\//.test(route) &&
          !/^(GET|HEAD|OPTIONS) /.test(route) &&
          !free.test(route) &&
          !(route in harmless),
      );
    const send = (browser: Browser, route: string, body: unknown) => {
      const [method = '', path = ''] = route.split(' ');
      return browser.once(method, path.replace(':id', idFor(route)), body);
    };

    it('no route gives it for a session alone, and none that gives it is left out', async () => {
      assert.deepEqual(
        giving().sort(),
        Object.keys(bodies).sort(),
        'every route is free with a reason, or tried',
      );
      service.clock.pass(5 * minute);
      for (const route of giving()) {
        const answer = await send(owner, route, bodies[route]!());
        assert.equal(answer.status, 403, `${route}: ${answer.text}`);
        assert.equal(answer.body.error.code, 'PROOF_REQUIRED', route);
      }
      for (const collection of ['api-keys', 'access-keys', 'identities', 'members', 'groups']) {
        const { text } = await owner.get(`/v1/${collection}`);
        assert.ok(!text.includes('thie'), collection);
      }
    });

    it('a proof of the last five minutes is enough for all of it', async () => {
      service.clock.pass(5 * minute);
      await owner.prove();
      service.clock.pass(5 * minute - 1_000);
      for (const route of giving()) {
        const answer = await send(owner, route, bodies[route]!());
        assert.equal(answer.status, 200, `${route}: ${answer.text}`);
      }
      service.clock.pass(1_000);
      assert.equal((await owner.once('POST', '/v1/api-keys', { name: 'late', role: 'viewer' })).status, 403);
    });

    it('so is having signed in by a password in the last five minutes', async () => {
      const browser = service.browser();
      await browser.signIn('owner@example.org');
      const body = { name: 'first', role: 'viewer' };
      assert.equal((await browser.once('POST', '/v1/api-keys', body)).status, 200);
      service.clock.pass(5 * minute);
      assert.equal((await browser.once('POST', '/v1/api-keys', body)).status, 403);
    });

    it('renaming and revoking take none', async () => {
      service.clock.pass(5 * minute);
      for (const collection of ['api-keys', 'access-keys', 'secret-ids']) {
        const path = `/v1/${collection}/${ids[collection]}`;
        assert.equal((await owner.once('PUT', path, { name: 'renamed' })).status, 200, collection);
        assert.equal((await owner.once('DELETE', path)).status, 200, collection);
      }
      for (const collection of ['groups', 'members', 'identities']) {
        const answer = await owner.once('DELETE', `/v1/${collection}/${ids[collection]}`);
        assert.equal(answer.status, 200, collection);
      }
    });
  });
}
