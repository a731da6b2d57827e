/**
 * A role in a single vault that ends: to the second, in every process, for sessions, API keys and clients that were let
 * in before; and nothing that was made with it lasts longer, or is given for longer.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { onBothEngines } from './at-once.ts';
import { type Json, unique } from './document.ts';
import { type Answer, callService } from './harness.ts';
import { type OAuthWorld, refresh, signedIn, startOAuth } from './oauth-world.ts';
import { Browser, invite } from './people.ts';

const hour = 3_600_000;

onBothEngines('roles in single vaults that end', engine => {
  let world: OAuthWorld;
  let owner: Browser;
  let vaultId: string;
  let secretId: string;

  before(async () => {
    world = await startOAuth(engine, ['--oauth', 'offered']);
    ({ owner, vaultId } = world);
    secretId = (await ok(owner.get(`/v1/secrets?vault_id=${vaultId}`))).data[0].id;
    world.service.clock.stand();
  });
  after(() => world.service.stop());

  async function ok(answer: Promise<Answer>): Promise<Json> {
    const { status, text, body } = await answer;
    assert.equal(status, 200, text);
    return body;
  }

  const at = (milliseconds: number) => new Date(world.service.clock.now() + milliseconds).toISOString();
  const grant = (role: string, until?: string) => [
    { vault_id: vaultId, role, ...(until === undefined ? {} : { until }) },
  ];
  const set = (id: string, body: Json) => ok(owner.call('PUT', `/v1/members/${id}`, body));
  const joined = (role = 'none') => invite(world.service, owner, `${unique('p')}@example.org`, role);
  const reveal = (browser: Browser) => browser.post(`/v1/secrets/${secretId}/reveal`);
  const read = (token: string) =>
    callService(world.service.url, 'GET', `/api/v1/vaults/${vaultId}?name=TOKEN`, undefined, token);
  /** Lets time pass until a millisecond before an end, and then to it. */
  function approach(until: string) {
    const left = Date.parse(until) - world.service.clock.now();
    world.service.clock.pass(left - 1);
    return { reach: () => world.service.clock.pass(1) };
  }

  it('give what they give until the end, and nothing after it, to a session, an API key and another replica', async () => {
    const { browser, id } = await joined('owner');
    const key = await ok(browser.post('/v1/api-keys', { name: unique('key'), role: 'owner' }));
    const byKey = () =>
      callService(world.service.url, 'POST', `/v1/secrets/${secretId}/reveal`, {}, key.token);
    const until = at(hour);
    await set(id, { role: 'none', grants: grant('reader', until) });
    const other = engine === 'postgres' ? await world.service.replica() : null;
    const elsewhere = new Browser(other?.url ?? world.service.url);
    for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value);
    const all = async () => [
      (await reveal(browser)).status,
      (await byKey()).status,
      (await reveal(elsewhere)).status,
      (await browser.get('/v1/vaults')).status,
    ];
    assert.deepEqual((await ok(browser.get('/v1/whoami'))).grants, grant('reader', until));
    assert.deepEqual((await ok(owner.get(`/v1/members/${id}`))).grants, grant('reader', until));
    const { reach } = approach(until);
    assert.deepEqual(await all(), [200, 200, 200, 200]);
    reach();
    assert.deepEqual(await all(), [403, 403, 403, 403]);
    assert.deepEqual((await ok(browser.get('/v1/whoami'))).grants, []);
    assert.deepEqual((await ok(owner.get(`/v1/members/${id}`))).grants, []);
    assert.deepEqual((await ok(browser.get('/auth/state'))).signed_in.grants, []);
  });

  it('leave the roles that somebody has besides, and a group’s end with the group’s', async () => {
    const { browser, id } = await joined();
    const until = at(hour);
    await set(id, { grants: [...grant('viewer'), ...grant('editor', until)] });
    const ends = at(2 * hour);
    await ok(
      owner.post('/v1/groups', { name: unique('team'), grants: grant('reader', ends), member_ids: [id] }),
    );
    const write = () => browser.post('/v1/secrets', { vault_id: vaultId, name: unique('S'), value: 'x' });
    const mayDo = async () => [(await reveal(browser)).status, (await write()).status];
    assert.deepEqual(await mayDo(), [200, 200]);
    approach(until).reach();
    assert.deepEqual(await mayDo(), [200, 403]);
    approach(ends).reach();
    assert.deepEqual(await mayDo(), [403, 403]);
    assert.equal((await browser.get(`/v1/secrets/${secretId}`)).status, 200);
  });

  it('count in the lists of a vault until the end, to the millisecond, of a member, a group and through it', async () => {
    const vault_id = (await ok(owner.post('/v1/vaults', { name: unique('counted') }))).id;
    const other = (await ok(owner.post('/v1/vaults', { name: unique('other') }))).id;
    const [{ id }, { id: grouped }, { id: stays }] = [await joined(), await joined(), await joined()];
    const until = at(hour);
    const elsewhere = { vault_id: other, role: 'editor', until: at(9 * hour) };
    await set(id, { grants: [{ vault_id, role: 'reader', until }, elsewhere] });
    await set(stays, {
      grants: [
        { vault_id, role: 'viewer' },
        { vault_id, role: 'editor', until },
      ],
    });
    const grants = [{ vault_id, role: 'reader', until }, elsewhere];
    const made = { name: unique('team'), grants, member_ids: [grouped] };
    const group = await ok(owner.post('/v1/groups', made));
    const listed = async (path: string) => {
      const { data, pagination } = await ok(owner.get(path));
      const people = data.filter((one: Json) => one.access?.[0].by !== 'organization');
      const all = data.length - people.length;
      assert.equal(pagination.total - all, people.length, path);
      return people.map((one: Json) => one.id);
    };
    const lists = async () => [
      await listed(`/v1/members?vault_id=${vault_id}`),
      await listed(`/v1/groups?vault_id=${vault_id}`),
      await listed(`/v1/vaults/${vault_id}/people`),
    ];
    const { reach } = approach(until);
    assert.deepEqual(await lists(), [[stays, id], [group.id], [stays, grouped, id]]);
    reach();
    assert.deepEqual(await lists(), [[stays], [], [stays]]);
    world.service.clock.pass(1);
    assert.deepEqual(await lists(), [[stays], [], [stays]], 'nor afterwards');
    assert.deepEqual(await listed(`/v1/members?vault_id=${other}`), [id]);
  });

  it('end in the future, and are given in few ways', async () => {
    const { id } = await joined();
    const put = (grants: Json[]) => owner.call('PUT', `/v1/members/${id}`, { grants });
    for (const until of [at(0), at(-hour), 'tomorrow', '', 5]) {
      const { status, text } = await put([{ vault_id: vaultId, role: 'reader', until }]);
      assert.equal(status, 400, text);
    }
    const soon = grant('reader', at(hour));
    assert.equal((await put([...soon, ...soon])).status, 400);
    assert.equal((await put([...grant('viewer'), ...grant('reader')])).status, 400);
    assert.deepEqual((await ok(put([{ ...soon[0], until: null }]))).grants, grant('reader'));
    await ok(put(soon));
    approach(soon[0]!.until!).reach();
    assert.deepEqual(
      (await set(id, { change_grants: [] })).grants,
      [],
      'one that has ended is no longer kept',
    );
  });

  it('are what a client was let in by, which is refused at the end, and refreshed no more', async () => {
    const { browser, id } = await joined();
    const until = at(hour / 2);
    await set(id, { grants: grant('reader', until) });
    const { access_token, refresh_token } = await signedIn(world, {}, browser);
    const { reach } = approach(until);
    for (let reads = 0; reads < 3; reads++) assert.equal((await read(access_token)).status, 200);
    reach();
    assert.equal((await read(access_token)).status, 401);
    assert.equal((await refresh(world.service.url, refresh_token)).status, 400);
  });

  it('make access keys and public tokens that end no later, and nothing that has no end', async () => {
    const { browser, id } = await joined();
    const until = at(hour);
    await set(id, { grants: grant('editor', until) });
    const create = (body: Json = {}) =>
      browser.post('/v1/access-keys', { vault_id: vaultId, name: unique('k'), ...body });
    const made = await ok(create());
    assert.equal(made.expiration_date, until);
    assert.equal((await ok(create({ expiration_date: at(hour / 2) }))).expiration_date < until, true);
    for (const expiration_date of [null, at(2 * hour)]) {
      const { status, body } = await create({ expiration_date });
      assert.equal(status, 403);
      assert.match(body.error.message, /^Your role in this vault ends before that/);
      const update = await browser.call('PUT', `/v1/access-keys/${made.id}`, { expiration_date });
      assert.equal(update.status, 403, update.text);
    }
    const token = await ok(browser.post('/v1/public-tokens', { key_id: world.keyId, name: unique('t') }));
    assert.equal(token.expiration_date, until);
    const endless = { key_id: world.keyId, name: unique('t'), expiration_date: null };
    assert.equal((await browser.post('/v1/public-tokens', endless)).status, 403);
    const standing = await ok(owner.post('/v1/access-keys', { vault_id: vaultId, name: unique('k') }));
    const widened = { names_only: false, rate_limit: 5 };
    assert.equal((await browser.call('PUT', `/v1/access-keys/${standing.id}`, widened)).status, 403);
    const rule = {
      secret_id: secretId,
      name: unique('rule'),
      hosts: ['api.example.org'],
      methods: ['POST'],
      paths: ['/**'],
      place: { type: 'bearer' },
      response: 'status-only',
    };
    const { status, body, text } = await browser.post('/v1/use-rules', rule);
    assert.equal(status, 403, text);
    assert.match(body.error.message, /^Your role in this vault ends before that/);
    const { reach } = approach(until);
    assert.equal((await read(made.token)).status, 200);
    reach();
    assert.equal((await read(made.token)).status, 401);
  });

  it('let no other vault refer to theirs, because that has no end', async () => {
    const other = (await ok(owner.post('/v1/vaults', { name: unique('refers') }))).id;
    const letRefer = (browser: Browser) =>
      browser.call('PUT', `/v1/vaults/${vaultId}`, { referable_from: [other] });
    const until = at(hour);
    const editor = await joined();
    await set(editor.id, { grants: [...grant('editor', until), { vault_id: other, role: 'editor' }] });
    const { status, body, text } = await letRefer(editor.browser);
    assert.equal(status, 403, text);
    assert.match(body.error.message, /ends before that/);
    assert.equal(
      (await editor.browser.call('PUT', `/v1/vaults/${vaultId}`, { description: 'd' })).status,
      200,
    );
    await set(editor.id, { grants: [...grant('editor'), { vault_id: other, role: 'editor', until }] });
    assert.equal((await ok(letRefer(editor.browser))).referable_from.length, 1, 'by a role that stays');
    const again = { referable_from: [other], description: 'again' };
    await set(editor.id, { grants: [...grant('editor', until), { vault_id: other, role: 'editor' }] });
    await ok(editor.browser.call('PUT', `/v1/vaults/${vaultId}`, again));
    await ok(editor.browser.call('PUT', `/v1/vaults/${vaultId}`, { referable_from: [] }));
  });

  it('are given on for no longer than they last, by a role, a group or an identity', async () => {
    const { browser: admin, id: adminId } = await joined('admin');
    const { id } = await joined();
    const until = at(hour);
    await set(adminId, { grants: grant('editor', until) });
    const given = {
      'without end': grant('editor'),
      'for longer': grant('editor', at(2 * hour)),
      'the value alone, without end': grant('reader'),
    };
    for (const [what, grants] of Object.entries(given)) {
      const answers = [
        await admin.call('PUT', `/v1/members/${id}`, { grants }),
        await admin.call('PUT', `/v1/members/${adminId}`, { grants }),
        await admin.post('/v1/members', { email: `${unique('p')}@example.org`, role: 'none', grants }),
        await admin.post('/v1/groups', { name: unique('g'), grants, member_ids: [id] }),
      ];
      assert.deepEqual(
        answers.map(({ status }) => status),
        [403, 403, 403, 403],
        what,
      );
    }
    await ok(admin.call('PUT', `/v1/members/${id}`, { grants: grant('reader', until) }));
    await ok(
      admin.call('PUT', `/v1/members/${id}`, { grants: [...grant('viewer'), ...grant('reader', until)] }),
    );
    const machine = { name: unique('machine'), method: 'secret_id', vault_ids: [vaultId] };
    assert.equal((await admin.post('/v1/identities', machine)).status, 403);
    await ok(admin.post('/v1/identities', { ...machine, expiration_date: until }));
    const key = { name: unique('key'), role: 'editor', vault_ids: [vaultId] };
    assert.equal((await admin.post('/v1/api-keys', key)).status, 403);
    assert.equal((await admin.post('/v1/api-keys', { ...key, expiration_date: at(2 * hour) })).status, 403);
    await ok(admin.post('/v1/api-keys', { ...key, scopes: ['secrets:reveal'], expiration_date: until }));
  });

  it('are in the audit log with their end', async () => {
    const { id } = await joined();
    const until = at(hour);
    await set(id, { grants: grant('reader', until) });
    const { data } = await ok(owner.get('/v1/audit-logs?limit=1'));
    assert.deepEqual([data[0].action, data[0].details.grants], ['member.updated', grant('reader', until)]);
  });
});
