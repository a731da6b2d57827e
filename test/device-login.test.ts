/** Signing a command line in by a person at a browser: the codes, who may allow it, and the key that comes of it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Json } from './document.ts';
import { forged } from './forged.ts';
import { type Answer, callService, enginesInTurn, makeOrganization } from './harness.ts';
import { type Browser, type EmptyService, invite, setUp, startEmpty } from './people.ts';
import { inDatabase } from './storage.ts';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`a command line’s sign-in on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;

    before(async () => {
      service = await startEmpty(engine);
      owner = await setUp(service);
    });
    after(() => service.stop());

    /** As a program sends it: no cookie, and no page that it came from. */
    const call = (method: string, path: string, body?: unknown, key: string | null = null) =>
      callService(service.url, method, path, body, key);
    const begin = async (body: Json = { client: 'strongroom/1', host: 'laptop' }): Promise<Json> => {
      service.clock.pass(61_000); // How often one may ask, and enter codes, is counted by minutes.
      const { status, body: begun, text } = await call('POST', '/auth/device', body);
      assert.equal(status, 200, text);
      return begun;
    };
    const poll = (device_code: string) => {
      service.clock.pass(2_000);
      return call('POST', '/auth/device/token', { device_code });
    };
    const statusAt = async ({ device_code }: Json) => (await poll(device_code)).body.status;
    const approve = (by: Browser, { user_code }: Json, role = 'owner', more: Json = {}) =>
      by.post('/auth/device/approve', { user_code, role, ...more });
    const whoami = (key: string) => call('GET', '/v1/whoami', undefined, key);
    const isUnknown = ({ status, body }: Answer) => {
      assert.equal(status, 400, JSON.stringify(body));
      assert.deepEqual(body.error.details, {
        field: 'user_code',
        reason: 'is unknown, expired or has been used',
      });
    };

    /** The key of a command line that somebody signed in. */
    async function signedIn(by: Browser, role: string, more: Json = {}): Promise<Json> {
      const begun = await begin();
      const answer = await approve(by, begun, role, more);
      assert.equal(answer.status, 200, answer.text);
      const { body } = await poll(begun.device_code);
      assert.equal(body.status, 'approved');
      return body.api_key;
    }

    let people = 0;
    const joined = (role: string) => invite(service, owner, `p${people++}@example.org`, role);

    it('gives a key once, after a person who is signed in allowed what they were shown', async () => {
      const begun = await begin();
      assert.match(begun.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
      assert.match(begun.device_code, /^sr_device_\w{71}$/);
      assert.deepEqual([begun.expires_in, begun.interval], [600, 2]);
      assert.equal(begun.verification_uri, `${service.url}/device`);
      assert.equal(begun.verification_uri_complete, `${service.url}/device#${begun.user_code}`);
      assert.equal(await statusAt(begun), 'pending');

      const { browser: editor, id } = await joined('editor');
      const shown = await editor.post('/auth/device/request', {
        user_code: ` ${begun.user_code.toLowerCase().replace('-', ' ')}`,
      });
      assert.equal(shown.status, 200, shown.text);
      const { client, host, ip_address, roles } = shown.body;
      assert.deepEqual([client, host, ip_address], ['strongroom/1', 'laptop', '127.0.0.1']);
      assert.deepEqual(roles, ['editor', 'writer', 'reader', 'viewer']);
      assert.equal((await approve(editor, begun, 'editor')).status, 200);

      const { body } = await poll(begun.device_code);
      assert.equal(body.status, 'approved');
      const { token, ...key } = body.api_key;
      assert.match(token, /^sr_api_/);
      assert.deepEqual(
        [key.name, key.role, key.member_id, key.created_by],
        ['Command line on laptop', 'editor', id, id],
      );
      const life = Date.parse(key.expiration_date) - service.clock.now();
      assert.ok(life > 11.9 * 3_600_000 && life <= 12 * 3_600_000, 'twelve hours');
      const me = (await whoami(token)).body;
      assert.deepEqual(me, {
        kind: 'api-key',
        id: key.id,
        name: key.name,
        organization: { id: me.organization.id, name: 'Acme' },
        member: { id, email: me.member.email },
        role: 'editor',
        grants: [],
        scopes: null,
        vault_ids: null,
        expiration_date: key.expiration_date,
      });

      assert.equal((await poll(begun.device_code)).status, 401, 'polled twice');
      isUnknown(await approve(editor, begun, 'editor'));
      const { body: log } = await owner.get('/v1/audit-logs?limit=10');
      const entries = log.data.filter(({ subject }: Json) => subject?.id === key.id);
      assert.deepEqual(
        entries.map(({ action, actor }: Json) => [action, actor.id]),
        [
          ['api-key.created', id],
          ['device-login.approved', id],
        ],
      );
      const stored = JSON.stringify(await inDatabase(service, 'SELECT * FROM device_logins'));
      for (const secret of [begun.device_code, begun.user_code, begun.user_code.replace('-', ''), token])
        assert.ok(!stored.includes(secret));
    });

    it('is whose it is: another’s session or a key of the API decides nothing without the code', async () => {
      const begun = await begin();
      const { user_code } = begun;
      for (const path of ['request', 'approve', 'deny']) {
        const body = { user_code, ...(path === 'approve' ? { role: 'viewer' } : {}) };
        assert.equal((await call('POST', `/auth/device/${path}`, body)).status, 401);
        const { token } = await signedIn(owner, 'owner');
        assert.equal((await call('POST', `/auth/device/${path}`, body, token)).status, 401, path);
        const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
        assert.equal((await owner.post(`/auth/device/${path}`, body, foreign)).status, 403, path);
      }
    });

    it('is fetched by its own code alone: another secret with its id is no code', async () => {
      const begun = await begin();
      await approve(owner, begun);
      assert.equal((await poll(forged(begun.device_code))).status, 401);
      assert.equal((await poll(begun.user_code)).status, 401);
      assert.equal(await statusAt(begun), 'approved');
    });

    it('gives at most what the person has, and for thirty days', async () => {
      const { browser: viewer } = await joined('viewer');
      const begun = await begin();
      for (const role of ['editor', 'admin', 'owner', 'auditor'])
        assert.equal((await approve(viewer, begun, role)).status, 403, role);
      for (const expires_in of [59, 30 * 24 * 3_600 + 1, 1.5])
        assert.equal((await approve(viewer, begun, 'viewer', { expires_in })).status, 400);
      const month = () => approve(viewer, begun, 'viewer', { expires_in: 30 * 24 * 3_600 });
      // A session alone gives nothing, however new it is and however short the key lives.
      for (const expires_in of [60, 3_600, 30 * 24 * 3_600]) {
        const body = { user_code: begun.user_code, role: 'viewer', expires_in };
        const unproven = await viewer.once('POST', '/auth/device/approve', body);
        assert.deepEqual([unproven.status, unproven.body.error.code], [403, 'PROOF_REQUIRED']);
      }
      assert.equal((await month()).status, 200);
      const { token } = (await poll(begun.device_code)).body.api_key;
      assert.equal((await call('GET', '/v1/vaults', undefined, token)).status, 200);
      assert.equal((await call('POST', '/v1/vaults', { name: 'x' }, token)).status, 403);
    });

    it('a wrong code is the same answer whatever it leads to; guesses are counted and in the log', async () => {
      const { browser: guesser } = await joined('viewer');
      const begun = await begin();
      await approve(owner, begun, 'viewer');
      const old = await begin();
      service.clock.pass(600_000);
      const codes = [begun.user_code, old.user_code, 'BBBB-BBBB', '', 'x'.repeat(32)];
      for (const user_code of codes) isUnknown(await guesser.post('/auth/device/request', { user_code }));
      const { body: log } = await owner.get('/v1/audit-logs?limit=5');
      assert.equal(log.data[0].action, 'device-login.refused');
      service.clock.standInNewMinute();
      for (let guess = 0; guess < 10; guess++)
        isUnknown(await approve(guesser, { user_code: 'BBBBBBBB' }, 'viewer'));
      const right = await call('POST', '/auth/device', {});
      const refused = await approve(guesser, right.body, 'viewer');
      assert.equal(refused.status, 429, 'the right one, too');
      assert.ok(Number(refused.headers.get('retry-after')) > 0);
      service.clock.run();
    });

    it('is over after ten minutes, and asked for too often is refused', async () => {
      const begun = await begin();
      const approved = await begin();
      await approve(owner, approved);
      service.clock.pass(600_000);
      assert.equal(await statusAt(begun), 'expired');
      assert.equal(await statusAt(approved), 'expired', 'allowed and never fetched');
      isUnknown(await approve(owner, begun));
      await begin();
      assert.equal((await poll(begun.device_code)).status, 401, 'forgotten');
      service.clock.standInNewMinute();
      const statuses = [];
      for (let asked = 0; asked < 31; asked++) statuses.push((await call('POST', '/auth/device', {})).status);
      service.clock.run();
      assert.deepEqual([statuses.slice(0, 30).every(one => one === 200), statuses[30]], [true, 429]);
    });

    it('tells who polls too often to slow down, and who was refused that they were', async () => {
      const begun = await begin();
      assert.equal(await statusAt(begun), 'pending');
      const { body } = await call('POST', '/auth/device/token', { device_code: begun.device_code });
      assert.deepEqual(body, { status: 'slow_down', interval: 2, api_key: null });
      assert.equal((await owner.post('/auth/device/deny', { user_code: begun.user_code })).status, 200);
      assert.equal(await statusAt(begun), 'denied');
      isUnknown(await approve(owner, begun));
      isUnknown(await owner.post('/auth/device/deny', { user_code: begun.user_code }));
      assert.equal(await statusAt(begun), 'denied');
    });

    it('of many who decide or fetch at once, one does', async () => {
      const begun = await begin();
      const decided = await Promise.all(Array.from({ length: 4 }, () => approve(owner, begun)));
      assert.deepEqual(decided.map(({ status }) => status).sort(), [200, 400, 400, 400]);
      service.clock.pass(2_000);
      const fetched = await Promise.all(
        Array.from({ length: 4 }, () =>
          call('POST', '/auth/device/token', { device_code: begun.device_code }),
        ),
      );
      assert.equal(fetched.filter(({ body }) => body.status === 'approved').length, 1);
    });

    it('dies with its member, or their way to prove who they are; before it is fetched and after', async () => {
      const ends: Record<string, (id: string, browser: Browser) => Promise<Answer>> = {
        'an invitation': id => owner.post(`/v1/members/${id}/invitation`),
        'another password': async (_, browser) =>
          browser.post('/auth/password/change', {
            current: 'correct horse battery staple',
            password: 'another horse battery staple',
          }),
        'a removal': id => owner.call('DELETE', `/v1/members/${id}`),
      };
      for (const [what, end] of Object.entries(ends)) {
        const { browser, id } = await joined('editor');
        const { token } = await signedIn(browser, 'editor');
        const waiting = await begin();
        await approve(browser, waiting, 'editor');
        const ended = await end(id, browser);
        assert.equal(ended.status, 200, ended.text);
        assert.equal((await whoami(token)).status, 401, what);
        assert.equal(await statusAt(waiting), 'denied', what);
      }
    });

    it('never has more than its member: a lesser role is its own at once, and a greater one gives it nothing', async () => {
      const { browser, id } = await joined('editor');
      const { token } = await signedIn(browser, 'editor');
      const writes = () => call('POST', '/v1/vaults', { name: `v-${token.slice(-6)}` }, token);
      for (const [role, status] of [
        ['viewer', 403],
        ['none', 403],
        ['editor', 200],
      ] as const) {
        const put = await owner.call('PUT', `/v1/members/${id}`, { role });
        assert.equal(put.status, 200, put.text);
        assert.equal((await whoami(token)).status, 200, role);
        assert.equal((await writes()).status, status, role);
      }
      await owner.call('PUT', `/v1/members/${id}`, { role: 'owner' });
      assert.equal((await call('GET', '/v1/members', undefined, token)).status, 403);
      await owner.call('PUT', `/v1/members/${id}`, { role: 'editor' });
    });

    it('can be given by whoever has single vaults alone, with what they have there', async () => {
      const vault = (await owner.post('/v1/vaults', { name: `only ${engine}` })).body;
      const { browser, id } = await joined('viewer');
      const grants = [{ vault_id: vault.id, role: 'editor' }];
      await owner.call('PUT', `/v1/members/${id}`, { role: 'none', grants });
      const begun = await begin();
      const shown = await browser.post('/auth/device/request', { user_code: begun.user_code });
      assert.deepEqual(shown.body.roles, ['editor', 'writer', 'reader', 'viewer']);
      assert.equal((await approve(browser, begun, 'admin')).status, 403);
      const { token } = await signedIn(browser, 'editor');
      const listed = await call('GET', '/v1/vaults', undefined, token);
      assert.deepEqual(
        listed.body.data.map((one: Json) => one.id),
        [vault.id],
      );
      assert.deepEqual((await whoami(token)).body.grants, grants);
    });

    it('is listed where API keys are, and for its member; either revokes it, and so does the key itself', async () => {
      const { browser: viewer, id } = await joined('viewer');
      const keys = [];
      for (let made = 0; made < 3; made++) keys.push(await signedIn(viewer, 'viewer'));
      const own = (await viewer.get('/auth/device/keys')).body.data;
      assert.deepEqual(
        own.map((key: Json) => key.id),
        keys.map(key => key.id).reverse(),
      );
      assert.ok(!JSON.stringify(own).includes('sr_api_'));
      const listed = (await owner.get('/v1/api-keys')).body.data;
      assert.equal(listed.filter((key: Json) => key.member_id === id).length, 3);
      assert.equal((await viewer.get('/v1/api-keys')).status, 403);
      assert.equal((await owner.call('DELETE', `/auth/device/keys/${keys[0]!.id}`)).status, 404);

      assert.equal((await viewer.call('DELETE', `/auth/device/keys/${keys[0]!.id}`)).status, 200);
      assert.equal((await owner.call('DELETE', `/v1/api-keys/${keys[1]!.id}`)).status, 200);
      const itself = await call('POST', '/auth/device/revoke', { token: keys[2]!.token });
      assert.equal(itself.status, 200, itself.text);
      for (const { token } of keys) assert.equal((await whoami(token)).status, 401);
      assert.equal((await call('POST', '/auth/device/revoke', { token: keys[2]!.token })).status, 401);
      assert.deepEqual((await viewer.get('/auth/device/keys')).body.data, []);
      const plain = (await owner.post('/v1/api-keys', { name: 'plain', role: 'owner' })).body;
      assert.equal((await call('POST', '/auth/device/revoke', { token: plain.token })).status, 403);
      assert.equal((await whoami(plain.token)).body.member.email, 'owner@example.org');
    });

    it('ends by itself; those that ended are tidied away by the next', async () => {
      const { browser: viewer } = await joined('viewer');
      const old = await signedIn(viewer, 'viewer', { expires_in: 60 });
      service.clock.pass(60_000);
      assert.equal((await whoami(old.token)).status, 401);
      assert.equal((await owner.get(`/v1/api-keys/${old.id}`)).status, 200);
      await signedIn(viewer, 'viewer');
      assert.equal((await owner.get(`/v1/api-keys/${old.id}`)).status, 404);
    });

    it('belongs to the organization of who allowed it, and to no other', async () => {
      const { key } = await makeOrganization(service.place, `Other ${engine}`, 'pro', 0);
      const { body: member } = await call(
        'POST',
        '/v1/members',
        { email: 'far@example.org', role: 'owner' },
        key,
      );
      const stranger = service.browser();
      const accepted = { token: member.token, password: 'correct horse battery staple' };
      assert.equal((await stranger.post('/auth/invitation/accept', accepted)).status, 200);
      const { token, id } = await signedIn(stranger, 'owner');
      assert.equal((await whoami(token)).body.organization.name, `Other ${engine}`);
      assert.equal((await owner.get(`/v1/api-keys/${id}`)).status, 404);
      assert.equal((await owner.call('DELETE', `/auth/device/keys/${id}`)).status, 404);
    });

    it('an approval that was edited in the database gives nobody anything', async () => {
      const { browser: viewer } = await joined('viewer');
      const begun = await begin();
      await approve(viewer, begun, 'viewer');
      await inDatabase(
        service,
        `UPDATE device_logins SET approval = replace(approval, '"viewer"', '"owner"') WHERE state = 'approved'`,
      );
      assert.equal((await poll(begun.device_code)).status, 500);
    });
  });
}
