/**
 * Vaults with review. Every route that writes what such a vault contains answers with a proposal, and writes nothing;
 * what is confirmed is what was proposed, once, on what it was proposed for, and by someone else.
 */
import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import { unknownWriter, writersOf, writtenBy } from '../src/domain/kernel/written-by.ts';
import { areSame } from '../src/domain/resources/review.ts';
import { openStrongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { onBothEngines } from './at-once.ts';
import { run } from './command.ts';
import { type Json, unique } from './document.ts';
import { type Answer, callService, makeOrganization, timePassing } from './harness.ts';
import { type Browser, type EmptyService, invite, setUp, startEmpty } from './people.ts';
import { inDatabase } from './storage.ts';
import { startUpstream } from './uses-world.ts';

const week = 7 * 24 * 60 * 60 * 1000;
const reads = ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'];
const generate = { key_type: 'EC', curve: 'P-256' };

onBothEngines('a vault with review', engine => {
  let service: EmptyService;
  let owner: Browser;
  /** An editor, who proposes, and another, who confirms. */
  let author: Browser;
  let authorId: string;
  let other: Browser;
  let vault: Json;
  let elsewhere: Json;

  before(async () => {
    service = await startEmpty(engine, ['--allow-private-webhooks', '127.0.0.0/8']);
    owner = await setUp(service);
    ({ browser: author, id: authorId } = await joined('editor'));
    ({ browser: other } = await joined('editor'));
    vault = await reviewed();
    elsewhere = await ok(owner.post('/v1/vaults', { name: unique('plain') }));
  });
  after(() => service.stop());

  const joined = (role: string) => invite(service, owner, `${unique('p')}@example.org`, role);
  const reviewed = () => ok(owner.post('/v1/vaults', { name: unique('reviewed'), review: true }));

  async function ok(answer: Promise<Answer>): Promise<Json> {
    const { status, text, body } = await answer;
    assert.equal(status, 200, text);
    return body;
  }
  async function proposed(answer: Promise<Answer>): Promise<string> {
    const { status, text, body } = await answer;
    assert.equal(status, 202, text);
    const { id, url, expires_at } = body.proposal;
    assert.equal(url, `${service.url}/proposals/${id}`);
    assert.ok(Date.parse(expires_at) > service.clock.now() + week - 60_000);
    return id;
  }
  async function refused(answer: Promise<Answer>, status: number, about = ''): Promise<string> {
    const { status: found, text } = await answer;
    assert.equal(found, status, `${about} ${text}`);
    return text;
  }
  const confirm = (id: string, by = other) => by.post(`/v1/proposals/${id}/confirm`);
  const confirmed = async (answer: Promise<Answer>) => ok(confirm(await proposed(answer)));
  const bypass = 'bypass=true&reason=it%20burns';
  const secretIn = (vault_id = vault.id, more: Json = {}) =>
    ok(owner.post(`/v1/secrets?${bypass}`, { vault_id, name: unique('S'), value: 'first', ...more }));
  const keyIn = () =>
    ok(owner.post(`/v1/keys?${bypass}`, { vault_id: vault.id, name: unique('k'), generate }));
  const authorityIn = async () => {
    const made = { key_type: 'OKP', curve: 'Ed25519' };
    const body = { vault_id: vault.id, name: unique('k'), generate: made, exportable: false };
    const { id } = await ok(owner.post(`/v1/keys?${bypass}`, body));
    const ssh = { types: ['user'], principals: ['deploy'], max_valid_for: 3_600 };
    return ok(owner.call('PUT', `/v1/keys/${id}?${bypass}`, { ssh }));
  };
  const certificateIn = async () => {
    const self_signed = { subject: 'CN=example.org', days: 30 };
    const { id: key_id } = await keyIn();
    const body = { vault_id: vault.id, name: unique('c'), key_id, self_signed };
    return ok(owner.post(`/v1/certificates?${bypass}`, body));
  };
  const stageOf = (...vault_ids: string[]) =>
    ok(owner.post('/v1/stages', { name: unique('stage'), vault_ids }));
  const deletedSecret = async () => {
    const { id } = await secretIn();
    await ok(owner.call('DELETE', `/v1/secrets/${id}?${bypass}`));
    return id as string;
  };
  const storedValue = async (id: string) => (await ok(owner.post(`/v1/secrets/${id}/reveal`))).value;
  const audits = async (action: string) =>
    (await ok(owner.get(`/v1/audit-logs?action=${action}&limit=100`))).data as Json[];
  const apiKeyOf = (browser: Browser, body: Json = {}) =>
    ok(browser.post('/v1/api-keys', { name: unique('key'), role: 'editor', ...body }));
  const withKey = (token: string, method: string, path: string, body?: unknown) =>
    callService(service.url, method, path, body, token);

  /** Everything that is stored of what vaults contain. */
  async function contents(): Promise<string> {
    const rows = await inDatabase(service, 'SELECT id, revision, deleted_at FROM resources ORDER BY id');
    const versions = await inDatabase(service, 'SELECT resource_id, version FROM versions ORDER BY 1, 2');
    const counts = await inDatabase(service, 'SELECT vault_id, type, living FROM counts ORDER BY 1, 2');
    const kinds = "'resource.created', 'resource.updated', 'resource.deleted'"; // Dates are announced in the background.
    const events = await inDatabase(service, `SELECT id FROM events WHERE type IN (${kinds}) ORDER BY 1`);
    return JSON.stringify([rows, versions, counts, events]);
  }

  /** A request for every operation that may write what a vault contains. */
  const writes: Readonly<Record<string, () => Promise<[method: string, path: string, body?: Json]>>> = {
    createResource: async () => [
      'POST',
      '/v1/resources',
      { type: 'secret', vault_id: vault.id, name: unique('S'), value: 'x' },
    ],
    updateResource: async () => ['PUT', `/v1/resources/${(await keyIn()).id}`, { name: unique('k') }],
    deleteResource: async () => ['DELETE', `/v1/resources/${(await keyIn()).id}`],
    restoreResource: async () => ['POST', `/v1/resources/${await deletedSecret()}/restore`],
    updateVault: async () => ['PUT', `/v1/vaults/${vault.id}`, { review: false }],
    deleteVault: async () => ['DELETE', `/v1/vaults/${vault.id}?purge=true`],
    createSecret: async () => ['POST', '/v1/secrets', { vault_id: vault.id, name: unique('S'), value: 'x' }],
    updateSecret: async () => ['PUT', `/v1/secrets/${(await secretIn()).id}`, { value: 'second' }],
    deleteSecret: async () => ['DELETE', `/v1/secrets/${(await secretIn()).id}`],
    writeSecrets: async () => [
      'POST',
      '/v1/secrets/bulk',
      {
        items: [
          { vault_id: vault.id, name: unique('S'), value: 'x' },
          { id: (await secretIn()).id, value: 'second' },
        ],
      },
    ],
    rollbackSecret: async () => ['POST', `/v1/secrets/${(await secretIn()).id}/rollback`, { version: 1 }],
    copySecrets: async () => [
      'POST',
      '/v1/secrets/copy',
      { secret_ids: [(await secretIn(elsewhere.id)).id], vault_id: vault.id, move: true },
    ],
    renameInStage: async () => {
      const { id: secret_id } = await secretIn();
      const { id } = await stageOf(vault.id);
      return ['POST', `/v1/stages/${id}/rename`, { secret_id, name: unique('R') }];
    },
    createKey: async () => ['POST', '/v1/keys', { vault_id: vault.id, name: unique('k'), generate }],
    updateKey: async () => ['PUT', `/v1/keys/${(await keyIn()).id}`, { tags: { team: 'a' } }],
    deleteKey: async () => ['DELETE', `/v1/keys/${(await keyIn()).id}?purge=true`],
    rotateKey: async () => ['POST', `/v1/keys/${(await keyIn()).id}/rotate`, {}],
    changeSshRevocations: async () => [
      'POST',
      `/v1/keys/${(await authorityIn()).id}/ssh-revocations`,
      { serials: ['7'] },
    ],
    createCertificate: async () => [
      'POST',
      '/v1/certificates',
      {
        vault_id: vault.id,
        name: unique('c'),
        key_id: (await keyIn()).id,
        self_signed: { subject: 'CN=example.org', days: 30 },
      },
    ],
    updateCertificate: async () => [
      'PUT',
      `/v1/certificates/${(await certificateIn()).id}`,
      { name: unique('c') },
    ],
    rollbackCertificate: async () => [
      'POST',
      `/v1/certificates/${(await certificateIn()).id}/rollback`,
      { version: 1 },
    ],
    deleteCertificate: async () => ['DELETE', `/v1/certificates/${(await certificateIn()).id}`],
  };
  /** They need the permission to write, and write nothing that a vault contains, or what was reviewed with the plan. */
  const others = ['createVault', 'createSigningRequest', 'createRenewalRequest', 'rotateSecret'];

  it('answers every writing route with a proposal, and nothing is written', async () => {
    const { body: document } = await owner.get('/v1/openapi.json');
    const operations = Object.values(document.paths as Json).flatMap(path =>
      Object.values(path as Json),
    ) as Json[];
    const reviewable = operations.filter(({ responses }) => '202' in (responses ?? {}));
    const names = reviewable.map(({ operationId }) => operationId as string);
    assert.deepEqual([...Object.keys(writes), ...others].sort(), names.sort(), 'every one has a request');
    const admin = (await joined('admin')).browser;
    const asked = new Set<string>();
    for (const [name, request] of Object.entries(writes)) {
      const [method, path, body] = await request();
      const before = await contents();
      const by = name.endsWith('Vault') ? admin : author;
      const answer = await by.call(method, path, body);
      assert.equal(answer.status, 202, `${name}: ${answer.text}`);
      assert.equal(await contents(), before, name);
      asked.add(answer.body.proposal.id);
    }
    assert.equal(asked.size, Object.keys(writes).length);
    const { data } = await ok(other.get(`/v1/proposals?vault_id=${vault.id}&limit=100`));
    for (const id of asked) assert.ok(data.some((one: Json) => one.id === id && one.state === 'pending'));
    assert.equal((await audits('proposal.created')).length, asked.size);
  });

  it('does each of them, as it was proposed, when someone else confirms it', async () => {
    const admin = (await joined('admin')).browser;
    for (const [name, request] of Object.entries(writes).filter(([one]) => !one.endsWith('Vault'))) {
      const [method, path, body] = await request();
      const before = await contents();
      const id = await proposed((name.endsWith('Vault') ? admin : author).call(method, path, body));
      const { state, decided_by } = await ok(confirm(id));
      assert.deepEqual([state, decided_by.kind], ['confirmed', 'member'], name);
      assert.notEqual(await contents(), before, name);
      await refused(confirm(id), 400, `${name} twice`);
    }
  });

  it('reviews the plan of a rotation, and not what is rotated by it', async () => {
    const { id } = await secretIn();
    const rotate = (by = author) => by.post(`/v1/secrets/${id}/rotate`, {});
    const rotation = { every: '30d', by: { kind: 'random', length: 32 } };
    const plan = await proposed(author.call('PUT', `/v1/secrets/${id}`, { rotation }));
    await refused(rotate(), 400, 'before the plan is confirmed');
    await refused(confirm(plan, author), 403, 'own plan');
    assert.equal(await storedValue(id), 'first');
    await ok(confirm(plan));
    await refused(rotate((await joined('viewer')).browser), 403);
    assert.equal((await ok(rotate())).version, 2);
    assert.equal((await storedValue(id)).length, 32);
    await proposed(author.call('PUT', `/v1/secrets/${id}`, { rotation: { ...rotation, every: '1d' } }));
    assert.equal((await ok(owner.get(`/v1/secrets/${id}`))).rotation.every, '30d');
  });

  it('stores exactly the value that was proposed, in the name of its author', async () => {
    const { id } = await secretIn();
    const { id: proposal, changes } = await confirmed(
      author.call('PUT', `/v1/secrets/${id}`, { value: 'sécond\n', tags: { team: 'a' } }),
    );
    assert.equal(await storedValue(id), 'sécond\n');
    assert.deepEqual(changes, [
      {
        action: 'update',
        type: 'secret',
        id,
        name: changes[0].name,
        new_value: true,
        difference: [{ field: 'tags.team', before: null, after: 'a' }],
      },
    ]);
    const { data } = await ok(owner.get(`/v1/secrets/${id}/versions`));
    assert.deepEqual(data.map(({ created_by }: Json) => created_by)[0], authorId);
    const [entry] = (await audits('secret.updated')).filter(({ subject }) => subject.id === id);
    assert.deepEqual([entry!.details.proposal, entry!.details.author], [proposal, authorId]);
    assert.equal(
      (await audits('proposal.confirmed')).filter(({ subject }) => subject.id === proposal).length,
      1,
    );
  });

  it('is not confirmed by its author, whichever of their credentials they use', async () => {
    const { browser: admin } = await joined('owner');
    const mine = await apiKeyOf(admin);
    const its = await ok(
      withKey((await apiKeyOf(admin, { role: 'owner' })).token, 'POST', '/v1/api-keys', {
        name: unique('key'),
        role: 'editor',
      }),
    );
    const { id } = await secretIn();
    const change = { value: 'theirs' };
    const bySession = await proposed(admin.call('PUT', `/v1/secrets/${id}`, change));
    for (const token of [mine.token, its.token]) {
      assert.equal((await ok(withKey(token, 'GET', `/v1/proposals/${bySession}`))).own, true);
      await refused(withKey(token, 'POST', `/v1/proposals/${bySession}/confirm`), 403);
    }
    await refused(confirm(bySession, admin), 403);
    const byKey = await proposed(withKey(its.token, 'PUT', `/v1/secrets/${id}`, change));
    await refused(confirm(byKey, admin), 403);
    await refused(withKey(mine.token, 'POST', `/v1/proposals/${byKey}/confirm`), 403);
    const denied = (await audits('proposal.confirmed')).filter(({ outcome }) => outcome === 'denied');
    assert.ok(denied.length >= 1 && denied.every(({ details }) => details.reason === 'own proposal'));
    assert.equal(await storedValue(id), 'first');
    assert.equal((await ok(other.get(`/v1/proposals/${byKey}`))).own, false);
    await ok(confirm(byKey));
    assert.equal(await storedValue(id), 'theirs');
  });

  it('nor by a key of the operator’s that leads to the same one, however many are between them', async () => {
    const { key } = await makeOrganization(service.place, unique('other'), 'free', 0);
    const post = (path: string, body: Json, token = key) => withKey(token, 'POST', path, body);
    const { id: vault_id } = await ok(post('/v1/vaults', { name: 'v', review: true }));
    const write = (by: string) => post('/v1/secrets', { vault_id, name: unique('S'), value: 'x' }, by);
    const tokens = [key];
    for (let at = 1; at <= 32; at++)
      tokens.push((await ok(post('/v1/api-keys', { name: `${at}`, role: 'owner' }, tokens.at(-1)))).token);
    const token = tokens[1]!;
    for (const at of [1, 31]) {
      const { body } = await write(tokens[at]!);
      await refused(post(`/v1/proposals/${body.proposal.id}/confirm`, {}), 403, `${at}`);
    }
    await refused(write(tokens[32]!), 403, 'too many to find the first one');
    await refused(withKey(token, 'GET', `/v1/proposals/${await foreign()}`), 404, 'another organization’s');
  });

  const foreign = async () => {
    const { id } = await secretIn();
    return proposed(author.call('PUT', `/v1/secrets/${id}`, { value: 'x' }));
  };

  it('is not confirmed by who may not write there, nor seen by who may not see the vault', async () => {
    const id = await foreign();
    const viewer = (await joined('viewer')).browser;
    assert.equal((await ok(viewer.get(`/v1/proposals/${id}`))).state, 'pending');
    await refused(confirm(id, viewer), 403);
    await refused(viewer.post(`/v1/proposals/${id}/reject`), 403);
    const scopes = ['proposals:read', 'proposals:write', 'keys:write', ...reads];
    const scoped = await apiKeyOf(owner, { scopes });
    await refused(withKey(scoped.token, 'POST', `/v1/proposals/${id}/confirm`), 403);
    const { browser: stranger, id: strangerId } = await joined('none');
    await ok(
      owner.call('PUT', `/v1/members/${strangerId}`, { grants: [{ vault_id: elsewhere.id, role: 'owner' }] }),
    );
    await refused(stranger.get(`/v1/proposals/${id}`), 404);
    await refused(confirm(id, stranger), 404);
    assert.equal((await ok(stranger.get('/v1/proposals?state=all'))).pagination.total, 0);
    assert.equal((await ok(other.get(`/v1/proposals/${id}`))).state, 'pending');
  });

  it('is shown to who may read all that it tells, and names people to who may see members', async () => {
    const id = await foreign();
    const few = await apiKeyOf(owner, { scopes: ['proposals:read', 'proposals:write', 'vaults:read'] });
    for (const path of ['/v1/proposals', `/v1/proposals/${id}`])
      await refused(withKey(few.token, 'GET', path), 403, path);
    for (const verb of ['confirm', 'reject'])
      await refused(withKey(few.token, 'POST', `/v1/proposals/${id}/${verb}`), 403, verb);
    const all = await apiKeyOf(owner, { scopes: ['proposals:read', ...reads] });
    assert.equal((await ok(withKey(all.token, 'GET', `/v1/proposals/${id}`))).author.name, null);
    const viewer = (await joined('viewer')).browser;
    const { text } = await viewer.get('/v1/proposals?limit=100&state=all');
    assert.ok(text.includes(id) && !text.includes('@example.org'), text);
    const seen = async (by: Browser) => (await ok(by.get(`/v1/proposals/${id}`))).author;
    assert.deepEqual(await seen(viewer), { kind: 'member', id: authorId, name: null });
    for (const by of [owner, author]) assert.match((await seen(by)).name, /@example\.org/);
    const byKey = await proposed(
      withKey((await apiKeyOf(owner)).token, 'POST', '/v1/secrets', {
        vault_id: vault.id,
        name: unique('S'),
        value: 'x',
      }),
    );
    assert.equal((await ok(viewer.get(`/v1/proposals/${byKey}`))).author.name, null);
  });

  it('shows values only to who may reveal them, after it is recorded', async () => {
    const { id } = await secretIn();
    const proposal = await proposed(author.call('PUT', `/v1/secrets/${id}`, { value: 'to be seen' }));
    const shown = await other.get(`/v1/proposals/${proposal}`);
    assert.ok(!shown.text.includes('to be seen') && !shown.text.includes('first'));
    await refused((await joined('admin')).browser.post(`/v1/proposals/${proposal}/reveal`), 403);
    const { data } = await ok(other.post(`/v1/proposals/${proposal}/reveal`));
    assert.deepEqual(
      data.map(({ before, after }: Json) => [before, after]),
      [['first', 'to be seen']],
    );
    const told = (await audits('proposal.revealed')).filter(({ subject }) => subject.id === proposal);
    const old = (await audits('secret.revealed')).filter(({ subject }) => subject.id === id);
    assert.deepEqual([told.length, old.length], [1, 1]);
    await ok(confirm(proposal));
    assert.deepEqual((await ok(other.post(`/v1/proposals/${proposal}/reveal`))).data, [], 'it is not kept');
  });

  it('leaves no trace of a value in what is stored of it', async () => {
    await proposed(
      author.post('/v1/secrets', { vault_id: vault.id, name: unique('S'), value: 'untraceable' }),
    );
    for (const table of ['proposals', 'events', 'audit_logs']) {
      const rows = await inDatabase(service, `SELECT * FROM ${table}`);
      const text = rows.flatMap(row => Object.values(row)).map(cell => Buffer.from(String(cell)).toString());
      assert.ok(!text.some(cell => cell.includes('untraceable')), table);
    }
  });

  it('is refused if what it changes was changed since', async () => {
    const { id } = await secretIn();
    const proposal = await proposed(author.call('PUT', `/v1/secrets/${id}`, { value: 'stale' }));
    const gone = await proposed(author.call('DELETE', `/v1/secrets/${id}`));
    await ok(owner.call('PUT', `/v1/secrets/${id}?${bypass}`, { tags: { team: 'b' } }));
    for (const one of [proposal, gone]) {
      assert.equal((await ok(other.get(`/v1/proposals/${one}`))).state, 'outdated');
      assert.match(await refused(confirm(one), 400), /changed since/);
    }
    assert.equal(await storedValue(id), 'first');
    await ok(author.post(`/v1/proposals/${proposal}/reject`));
  });

  it('is refused if its author may no longer write there', async () => {
    const { browser, id: memberId } = await joined('editor');
    const { id } = await secretIn();
    const proposal = await proposed(browser.call('PUT', `/v1/secrets/${id}`, { value: 'late' }));
    await ok(owner.call('PUT', `/v1/members/${memberId}`, { role: 'viewer' }));
    assert.match(await refused(confirm(proposal), 400), /author may no longer/);
    await ok(owner.call('PUT', `/v1/members/${memberId}`, { role: 'editor' }));
    const key = await apiKeyOf(owner);
    const byKey = await proposed(withKey(key.token, 'PUT', `/v1/secrets/${id}`, { value: 'late' }));
    await ok(owner.call('DELETE', `/v1/api-keys/${key.id}`));
    assert.match(await refused(confirm(byKey), 400), /author may no longer/);
    assert.equal(await storedValue(id), 'first');
    await ok(confirm(proposal));
    assert.equal(await storedValue(id), 'late');
  });

  async function housekeeping(): Promise<void> {
    const config = readConfig(serveOptions, service.place, {});
    const passing = { elapsed: timePassing() };
    const strongroom = await openStrongroom(config, false, service.clock.now, passing);
    while (await strongroom.domain.housekeeping.step());
    await strongroom.close();
  }

  it('is refused and ends after seven days, and once it was rejected', async () => {
    const { id } = await secretIn();
    const [late, unwanted] = [await foreign(), await foreign()];
    assert.equal((await ok(other.post(`/v1/proposals/${unwanted}/reject`))).state, 'rejected');
    await refused(confirm(unwanted), 400);
    service.clock.pass(week);
    await owner.signIn('owner@example.org');
    const fresh = (await joined('editor')).browser;
    const { state } = await ok(fresh.get(`/v1/proposals/${late}`));
    assert.equal(state, 'expired');
    assert.match(await refused(confirm(late, fresh), 400), /expired/);
    assert.equal(await storedValue(id), 'first');
    assert.match(await refused(owner.post(`/v1/proposals/${late}/reveal`), 400), /expired/);
    await housekeeping();
    assert.equal((await ok(fresh.get(`/v1/proposals/${late}`))).state, 'expired');
    assert.deepEqual((await ok(owner.post(`/v1/proposals/${late}/reveal`))).data, [], 'it is not kept');
    const ended = (await audits('proposal.expired')).filter(({ subject }) => subject.id === late);
    const told = await inDatabase(service, "SELECT payload FROM events WHERE type = 'proposal.expired'");
    const events = told.filter(({ payload }) => String(payload).includes(late));
    assert.deepEqual([ended.length, events.length], [1, 1]);
    ({ browser: author, id: authorId } = await joined('editor'));
    ({ browser: other } = await joined('editor'));
  });

  it('lets an owner write at once, for a reason that all can see', async () => {
    const { id } = await secretIn();
    const put = (query: string, by: Browser, body: Json = {}) =>
      by.call('PUT', `/v1/secrets/${id}${query}`, { value: 'at once', ...body });
    await refused(put('?bypass=true', owner), 400);
    await refused(put(`?${bypass}`, author), 403);
    await refused(put(`?${bypass}`, (await joined('admin')).browser), 403);
    const { body } = await put('?bypass=false', author);
    assert.ok(body.proposal);
    await ok(put('?bypass=true', owner, { reason: 'it burns' }));
    assert.equal(await storedValue(id), 'at once');
    const [entry] = await audits('proposal.bypassed');
    assert.deepEqual([entry!.details.reason, entry!.details.resources], ['it burns', [id]]);
    const { data } = await ok(other.get('/v1/proposals?state=all&limit=100'));
    const shown = data.find((one: Json) => one.id === entry!.subject.id);
    assert.deepEqual([shown.state, shown.reason], ['bypassed', 'it burns']);
    const events = await inDatabase(service, "SELECT payload FROM events WHERE type = 'proposal.bypassed'");
    assert.ok(events.some(({ payload }) => String(payload).includes(entry!.subject.id)));
    await ok(owner.call('DELETE', `/v1/secrets/${id}?bypass=true`, { reason: 'gone' }));
    await ok(owner.call('PUT', `/v1/secrets/${(await secretIn(elsewhere.id)).id}?${bypass}`, { value: 'y' }));
  });

  it('lets an owner do what was proposed, even their own, for a reason that all can see', async () => {
    const { id } = await secretIn();
    const mine = await proposed(owner.call('PUT', `/v1/secrets/${id}`, { value: 'urgent' }));
    await refused(confirm(mine, owner), 403);
    const path = `/v1/proposals/${mine}/confirm`;
    await refused(owner.post(`${path}?bypass=true`), 400, 'without a reason');
    for (const by of [author, (await joined('admin')).browser])
      await refused(by.post(`${path}?${bypass}`), 403, 'who is no owner');
    assert.equal(await storedValue(id), 'first');
    const { state, reason, decided_by } = await ok(owner.post(`${path}?${bypass}`));
    assert.deepEqual([state, reason, decided_by.kind], ['bypassed', 'it burns', 'member']);
    assert.equal(await storedValue(id), 'urgent');
    const [entry] = (await audits('proposal.bypassed')).filter(({ subject }) => subject.id === mine);
    assert.equal(entry!.details.reason, 'it burns');
    const told = await inDatabase(service, "SELECT payload FROM events WHERE type = 'proposal.bypassed'");
    assert.ok(told.some(({ payload }) => String(payload).includes(mine)));
    await refused(owner.post(`${path}?${bypass}`), 400, 'twice');
    const late = await proposed(owner.call('PUT', `/v1/secrets/${id}`, { value: 'late' }));
    service.clock.pass(6 * 60_000);
    const { body } = await owner.once('POST', `/v1/proposals/${late}/confirm?${bypass}`);
    assert.equal(body.error.code, 'PROOF_REQUIRED');
    await owner.signIn('owner@example.org');
  });

  it('answers for a vault that one may not see as for none', async () => {
    const { browser: stranger, id: strangerId } = await joined('none');
    const grants = [{ vault_id: elsewhere.id, role: 'owner' }];
    await ok(owner.call('PUT', `/v1/members/${strangerId}`, { grants }));
    const { id } = await secretIn();
    const missing = '0199a3c4-0000-7000-8000-000000000000';
    const withoutId = ({ status, text }: Answer) => [status, text.replace(/"request_id":"[^"]*"/, '')];
    for (const query of ['', `?${bypass}`]) {
      const put = (secret: string) =>
        stranger.call('PUT', `/v1/secrets/${secret}${query}`, { value: 'x' }).then(withoutId);
      const remove = (secret: string) =>
        stranger.call('DELETE', `/v1/secrets/${secret}${query}`).then(withoutId);
      const create = (vault_id: string) =>
        stranger.post(`/v1/secrets${query}`, { vault_id, name: 'S', value: 'x' }).then(withoutId);
      assert.deepEqual(await put(id), await put(missing));
      assert.deepEqual(await remove(id), await remove(missing));
      assert.deepEqual(await create(vault.id), await create(missing));
    }
    const { browser: viewer } = await joined('viewer');
    const plain = (await secretIn(elsewhere.id)).id;
    const seen = (secret: string) =>
      viewer.call('PUT', `/v1/secrets/${secret}`, { value: 'x' }).then(withoutId);
    assert.deepEqual(await seen(id), await seen(plain));
  });

  it('is switched by owners and admins, and off only with a second one', async () => {
    const { id } = await ok(owner.post('/v1/vaults', { name: unique('switched') }));
    const set = (by: Browser, review: boolean, query = '') =>
      by.call('PUT', `/v1/vaults/${id}${query}`, { review });
    await refused(set(author, true), 403);
    const admin = (await joined('admin')).browser;
    assert.equal((await ok(set(admin, true))).review, true);
    assert.equal((await ok(admin.call('PUT', `/v1/vaults/${id}`, { description: 'd' }))).review, true);
    await refused(set(author, false), 403);
    const off = await proposed(set(admin, false));
    await refused(confirm(off, author), 403, 'an editor could not have proposed it');
    await ok(confirm(off, owner));
    assert.equal((await ok(owner.get(`/v1/vaults/${id}`))).review, false);
    await ok(set(admin, true));
    assert.equal((await ok(set(owner, false, `?${bypass}`))).review, false);
    await refused(author.post('/v1/vaults', { name: unique('v'), review: true }), 403);
    await ok(set(owner, true));
    const both = { review: false, referable_from: [elsewhere.id] };
    assert.match(await refused(owner.call('PUT', `/v1/vaults/${id}`, both), 400), /referable_from/);
    const kept = await ok(owner.call('PUT', `/v1/vaults/${id}`, { referable_from: [elsewhere.id] }));
    assert.deepEqual([kept.review, kept.referable_from], [true, [elsewhere.id]]);
  });

  it('keeps what is moved out of it until that is confirmed', async () => {
    const { id } = await secretIn();
    const { status, body } = await author.post('/v1/secrets/copy', {
      secret_ids: [id],
      vault_id: elsewhere.id,
      move: true,
    });
    const [result] = body.results;
    assert.deepEqual([status, result.status, result.secret.vault_id], [202, 200, elsewhere.id]);
    assert.equal(result.proposal.id, body.proposal.id);
    assert.equal((await owner.get(`/v1/secrets/${id}`)).status, 200);
    await ok(confirm(result.proposal.id));
    assert.equal((await owner.get(`/v1/secrets/${id}`)).status, 404);
  });

  it('makes one proposal of many writes, and does the others of the same request at once', async () => {
    const item = (vault_id: string, name = unique('S')) => ({ vault_id, name, value: 'x' });
    const items = [item(vault.id), item(elsewhere.id), item(vault.id), { vault_id: vault.id, name: '' }];
    const { body } = await author.post('/v1/secrets/bulk', { items });
    assert.deepEqual(
      body.results.map(({ status }: Json) => status),
      [202, 200, 202, 400],
    );
    assert.equal(body.results[0].proposal.id, body.results[2].proposal.id);
    const { changes } = await ok(confirm(body.proposal.id));
    assert.deepEqual(
      changes.map(({ action }: Json) => action),
      ['create', 'create'],
    );
    const again = await author.post('/v1/secrets', items[0]);
    assert.equal(again.body.error.details.field, 'name', 'who proposes a name learns that it is taken');
  });

  it('renews and rolls back certificates, and does not store one that has expired since', async () => {
    const { id } = await certificateIn();
    const renewed = (days: number) =>
      author.call('PUT', `/v1/certificates/${id}`, { self_signed: { subject: 'CN=example.org', days } });
    const version = async () => (await ok(owner.get(`/v1/certificates/${id}`))).version;
    const first = await proposed(renewed(60));
    assert.equal(await version(), 1);
    const [change] = (await ok(other.get(`/v1/proposals/${first}`))).changes;
    assert.deepEqual([change.action, change.type, change.new_value], ['update', 'certificate', true]);
    await ok(confirm(first));
    assert.equal(await version(), 2);
    const back = await confirmed(author.post(`/v1/certificates/${id}/rollback`, { version: 1 }));
    assert.deepEqual([back.changes[0].action, await version()], ['roll_back', 3]);
    const short = await proposed(renewed(1));
    service.clock.pass(2 * 24 * 60 * 60 * 1000);
    await owner.signIn('owner@example.org');
    assert.match(await refused(confirm(short, owner), 400), /has expired/);
    assert.equal(await version(), 3);
    ({ browser: author, id: authorId } = await joined('editor'));
    ({ browser: other } = await joined('editor'));
  });

  it('stores templates that their author could still write, and shows no names of other vaults', async () => {
    const target = await secretIn();
    const beside = await reviewed();
    const hidden = await secretIn(beside.id);
    await ok(owner.call('PUT', `/v1/vaults/${beside.id}`, { referable_from: [vault.id] }));
    const text = `a-\${${target.name}}-\${vault:${beside.name}/${hidden.name}}`;
    const body = { vault_id: vault.id, name: unique('T'), kind: 'template', value: text };
    const id = await proposed(author.post('/v1/secrets', body));
    const { changes } = await ok(other.get(`/v1/proposals/${id}`));
    assert.equal(JSON.stringify(changes).includes(hidden.id), false);
    assert.ok(changes[0].difference.some((one: Json) => one.field === 'kind' && one.after === 'template'));
    assert.ok(!changes[0].difference.some((one: Json) => one.field === 'enabled'));
    const { browser: here, id: hereId } = await joined('none');
    const grants = [{ vault_id: vault.id, role: 'editor' }];
    await ok(owner.call('PUT', `/v1/members/${hereId}`, { grants }));
    const after = async (by: Browser) => (await ok(by.post(`/v1/proposals/${id}/reveal`))).data[0].after;
    assert.equal(await after(other), text);
    assert.equal(await after(here), `a-\${${target.name}}-\${}`);
    await ok(confirm(id, here));
    assert.equal(await storedValue(changes[0].id), 'a-first-first');
    const change = (value: string) => author.call('PUT', `/v1/secrets/${changes[0].id}`, { value });
    const shorter = await proposed(change(`b-\${${target.name}}`));
    const { data } = await ok(other.post(`/v1/proposals/${shorter}/reveal`));
    assert.deepEqual([data[0].before, data[0].after], [text, `b-\${${target.name}}`]);
    await ok(confirm(shorter));
    assert.equal(await storedValue(changes[0].id), 'b-first');
    const back = await proposed(author.post(`/v1/secrets/${changes[0].id}/rollback`, { version: 1 }));
    await ok(owner.call('PUT', `/v1/vaults/${beside.id}`, { referable_from: [] }));
    assert.match(await refused(confirm(back), 400), /could no longer write this template/);
    const around = await proposed(
      author.call('PUT', `/v1/secrets/${target.id}`, { kind: 'template', value: `c-\${${body.name}}` }),
    ).catch(() => null);
    assert.equal(around, null, 'a circle is refused when it is proposed');
  });

  it('lets templates depend only on vaults with review, at any depth', async () => {
    const [near, far] = [await reviewed(), await ok(owner.post('/v1/vaults', { name: unique('far') }))];
    const refer = (to: Json, from: Json) =>
      ok(owner.call('PUT', `/v1/vaults/${to.id}`, { referable_from: [from.id] }));
    await Promise.all([refer(near, vault), refer(far, near)]);
    const review = (place: Json, on: boolean) =>
      ok(owner.call('PUT', `/v1/vaults/${place.id}?${bypass}`, { review: on }));
    const templateIn = (place: Json, to: Json, name: string) => ({
      vault_id: place.id,
      name: unique('T'),
      kind: 'template',
      value: `\${vault:${to.name}/${name}}`,
    });
    const target = await secretIn(far.id);
    const direct = templateIn(near, far, target.name);
    const about = /vaults with review/;
    assert.match(await refused(author.post('/v1/secrets', direct), 400), about);
    assert.match(await refused(owner.post(`/v1/secrets?${bypass}`, direct), 400), about);
    await review(near, false);
    const { name } = await ok(owner.post('/v1/secrets', direct));
    await review(near, true);
    const through = templateIn(vault, near, name);
    assert.match(await refused(author.post('/v1/secrets', through), 400), about);
    await review(far, true);
    const id = await proposed(author.post('/v1/secrets', through));
    await review(far, false);
    assert.match(await refused(confirm(id), 400), /could no longer write/);
    await review(far, true);
    const { changes } = await ok(confirm(id));
    assert.equal(await storedValue(changes[0].id), 'first');
  });

  it('proposes each template by itself, so that confirming many forms no circle', async () => {
    const target = await secretIn();
    const templateOf = () => secretIn(vault.id, { kind: 'template', value: `\${${target.name}}` });
    const [first, second] = [await templateOf(), await templateOf()];
    const items = [
      { id: first.id, value: `\${${second.name}}` },
      { id: second.id, value: `\${${first.name}}` },
    ];
    const { body } = await author.post('/v1/secrets/bulk', { items });
    const made = body.results.map(({ proposal }: Json) => proposal.id) as [string, string];
    assert.notEqual(made[0], made[1]);
    const answers = await Promise.all(made.map(id => confirm(id)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
    assert.deepEqual([await storedValue(first.id), await storedValue(second.id)], ['first', 'first']);
  });

  it('renames in the other vaults of a stage at once, and proposes it in each with review', async () => {
    const [second, open] = [await reviewed(), await ok(owner.post('/v1/vaults', { name: unique('open') }))];
    const [old, name] = [unique('OLD'), unique('NEW')];
    const places = [open.id, vault.id, second.id];
    const secrets: Json[] = [];
    for (const place of places) secrets.push(await secretIn(place, { name: old }));
    const { id } = await stageOf(...places);
    const named = () =>
      Promise.all(secrets.map(async one => (await ok(owner.get(`/v1/secrets/${one.id}`))).name));
    const rename = (to: string, by = author, query = '') =>
      by.post(`/v1/stages/${id}/rename${query}`, { secret_id: secrets[0]!.id, name: to });
    const taken = await secretIn(second.id);
    await refused(rename(taken.name), 400);
    assert.deepEqual(await named(), [old, old, old], 'in none');
    const { status, body } = await rename(name);
    assert.deepEqual([status, body.data.length], [202, 3]);
    assert.deepEqual(await named(), [name, old, old]);
    const made = body.data.flatMap(({ proposal }: Json) => proposal?.id ?? []);
    assert.equal(made.length, 2);
    for (const one of made) await ok(confirm(one));
    assert.deepEqual(await named(), [name, name, name]);
    const again = unique('AGAIN');
    await ok(rename(again, owner, `?${bypass}`));
    assert.deepEqual(await named(), [again, again, again]);
    const { data } = await ok(owner.get('/v1/proposals?state=all&limit=3'));
    assert.equal(data.filter((one: Json) => one.state === 'bypassed').length >= 2, true);
  });

  it('wait up to 500 in a vault, and 100 of one author', async () => {
    const { id: vault_id } = await reviewed();
    const propose = (by: Browser) => by.post('/v1/secrets', { vault_id, name: unique('S'), value: 'x' });
    const first = await proposed(propose(author));
    const authors = [
      author,
      other,
      ...(await Promise.all([1, 2, 3].map(async () => (await joined('editor')).browser))),
    ];
    for (const by of authors) {
      for (let made = by === author ? 1 : 0; made < 100; made += 10)
        await Promise.all(Array.from({ length: Math.min(10, 100 - made) }, () => propose(by)));
      if (by === author) assert.match(await refused(propose(by), 400), /100 proposals of the same author/);
    }
    const { browser: late } = await joined('editor');
    assert.match(await refused(propose(late), 400), /500 proposals already wait/);
    await ok(author.post(`/v1/proposals/${first}/reject`));
    await proposed(propose(late));
  });

  it('is done once, whoever confirms it at the same time', async () => {
    const urls = engine === 'postgres' ? [service.url, (await service.replica()).url] : [service.url];
    const { id } = await secretIn();
    const proposal = await proposed(author.call('PUT', `/v1/secrets/${id}`, { value: 'once' }));
    const keys = await Promise.all([1, 2, 3, 4].map(() => apiKeyOf(owner)));
    const answers = await Promise.all(
      keys.map(({ token }, at) =>
        callService(urls[at % urls.length]!, 'POST', `/v1/proposals/${proposal}/confirm`, undefined, token),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400]);
    assert.equal((await ok(owner.get(`/v1/secrets/${id}/versions`))).pagination.total, 2);
  });

  it('counts from the moment it is switched on, on every replica', async () => {
    const urls = engine === 'postgres' ? [service.url, (await service.replica()).url] : [service.url];
    const { id: vault_id } = await ok(owner.post('/v1/vaults', { name: unique('v') }));
    const { id } = await secretIn(vault_id);
    const { token } = await apiKeyOf(owner);
    const write = (url: string) =>
      callService(url, 'PUT', `/v1/secrets/${id}`, { value: unique('x') }, token);
    for (const url of urls) assert.equal((await write(url)).status, 200);
    await ok(owner.call('PUT', `/v1/vaults/${vault_id}`, { review: true }));
    for (const url of urls) assert.equal((await write(url)).status, 202);
  });

  it('tells clients of Vault’s dialect in their own form', async () => {
    const { token } = await apiKeyOf(owner);
    const path = `/vault/v1/${vault.id}/data/${unique('FROM_VAULT')}`;
    const call = (method: string, body?: Json) =>
      callService(service.url, method, path, body, null, { 'x-vault-token': token });
    const { status, body } = await call('POST', { data: { value: 'x' } });
    assert.equal(status, 202);
    assert.match(body.warnings[0], /demands review/);
    assert.equal((await call('GET')).status, 404);
    await ok(confirm(body.data.proposal.id));
    assert.equal((await call('GET')).body.data.data.value, 'x');
    const removed = await call('DELETE');
    assert.equal(removed.status, 202);
    assert.equal((await call('GET')).status, 200);
  });

  it('is proposed and decided by commands', async () => {
    const as = async (browser: Browser, args: readonly string[]) => {
      const { token } = browser === owner ? await apiKeyOf(owner) : { token: theirs };
      return run(args, { env: { STRONGROOM_URL: service.url, STRONGROOM_API_KEY: token } });
    };
    const { browser: second } = await joined('owner');
    const theirs = (await apiKeyOf(second)).token as string;
    const sent = await as(owner, ['set', 'BY_COMMAND', '--generate', '--vault', vault.name]);
    assert.deepEqual([sent.code, /sent for review/.test(sent.stderr)], [1, true], sent.stderr);
    const listed = await as(second, ['proposals', 'list']);
    const line = listed.stdout.split('\n').find(one => one.includes('create secret BY_COMMAND'))!;
    const [id] = line.split(' ');
    assert.match(line, new RegExp(`${vault.name} +create`));
    const shown = await as(second, ['proposals', 'show', id!, '--values']);
    assert.match(shown.stdout, /[A-Za-z0-9]{32}/);
    assert.doesNotMatch((await as(second, ['proposals', 'show', id!])).stdout, /[A-Za-z0-9]{32}/);
    const done = await as(second, ['proposals', 'confirm', id!]);
    assert.deepEqual([done.code, /confirmed and done/.test(done.stderr)], [0, true], done.stderr);
    assert.equal((await as(second, ['proposals', 'reject', id!])).code, 1);
  });

  /** A secret whose rule stores what a call returns, and the secret that it is stored in. */
  async function storing(t: TestContext, by = owner) {
    const upstream = await startUpstream();
    t.after(upstream.close);
    upstream.answer = (_request, _body, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"token":"from-upstream"}');
    };
    const { id: secret_id, name } = await secretIn(vault.id, { value: 'a-long-enough-credential' });
    const { id: target } = await secretIn();
    const rule = await ok(
      by.post('/v1/use-rules', {
        secret_id,
        name: unique('rule'),
        hosts: [upstream.url],
        methods: ['GET'],
        paths: ['/**'],
        place: { type: 'bearer' },
        approval: 'never',
        response: 'store',
        store: { secret_id: target, pointer: '/token' },
      }),
    );
    const use = (token: string) =>
      callService(
        service.url,
        'POST',
        '/api/v1/vaults/self/use',
        { secret: name, url: `${upstream.url}/token` },
        token,
      );
    const proposedBy = async (token: string) => {
      const { body, text } = await use(token);
      assert.equal(body.stored, null, text);
      assert.equal(body.proposal.url, `${service.url}/proposals/${body.proposal.id}`);
      return body.proposal.id as string;
    };
    return { rule, target, use, proposedBy };
  }
  const agentOf = (by: Browser, more: Json = {}) =>
    ok(
      by.post('/v1/access-keys', {
        vault_id: vault.id,
        name: unique('a'),
        names_only: true,
        may_use: true,
        ...more,
      }),
    );
  const identityOf = (by: Browser) =>
    ok(
      by.post('/v1/identities', {
        name: unique('ci'),
        method: 'secret_id',
        vault_ids: [vault.id],
        names_only: true,
        may_use: true,
      }),
    );
  async function loggedIn(identity: Json, by: Browser): Promise<string> {
    const { token: secret_id } = await ok(by.post('/v1/secret-ids', { identity_id: identity.id }));
    const login = { identity_id: identity.id, secret_id };
    return (await ok(callService(service.url, 'POST', '/api/v1/login', login, null))).token;
  }

  it('keeps what a call returned until someone confirms it', async t => {
    const { target, proposedBy } = await storing(t);
    const id = await proposedBy((await agentOf(owner)).token);
    assert.equal(await storedValue(target), 'first');
    await refused(confirm(id, owner), 403, 'who made the access key');
    await ok(confirm(id));
    assert.equal(await storedValue(target), 'from-upstream');
  });

  it('leaves room for people, however many access keys propose', async t => {
    const { use, proposedBy } = await storing(t);
    const agents = [await agentOf(owner), await agentOf(other)];
    const waiting = async () => (await ok(owner.get(`/v1/proposals?vault_id=${vault.id}`))).data as Json[];
    const byAgents = async () => (await waiting()).filter(one => one.author.kind === 'access-key');
    const before = (await byAgents()).length;
    for (let made = before; made < 100; made++) {
      service.clock.pass(2_000); // Each call has its share of the rule's limit.
      await proposedBy(agents[made % 2]!.token);
    }
    for (const { token } of agents) {
      service.clock.pass(2_000);
      const { status, text } = await use(token);
      assert.equal(status, 400, text);
      assert.match(text, /100 proposals of the same author/);
    }
    const byPerson = await proposed(
      author.post('/v1/secrets', { vault_id: vault.id, name: unique('S'), value: 'x' }),
    );
    for (const id of [byPerson, ...(await byAgents()).map(one => one.id as string)])
      await ok(owner.post(`/v1/proposals/${id}/reject`));
  });

  it('counts whoever wrote the rule of a call among its authors', async t => {
    const { rule, target, proposedBy } = await storing(t, author);
    const { token } = await agentOf(owner);
    const first = await proposedBy(token);
    assert.equal((await ok(author.get(`/v1/proposals/${first}`))).own, true);
    await refused(confirm(first, author), 403, 'who made the rule');
    const { browser: third } = await joined('editor');
    await ok(other.call('PUT', `/v1/use-rules/${rule.id}`, { timeout: 20 }));
    await ok(third.call('PUT', `/v1/use-rules/${rule.id}`, { timeout: 10 }));
    const second = await proposedBy(token);
    for (const by of [author, other, third]) await refused(confirm(second, by), 403, 'who changed the rule');
    assert.equal(await storedValue(target), 'first');
    await ok(confirm(second, (await joined('editor')).browser));
    assert.equal(await storedValue(target), 'from-upstream');
    assert.ok(!('written_by' in (await ok(owner.get(`/v1/use-rules/${rule.id}`)))));
  });

  it('counts whoever made the secret id of a login, and its identity, among its authors', async t => {
    const { target, proposedBy } = await storing(t);
    const { browser: maker } = await joined('editor');
    const id = await proposedBy(await loggedIn(await identityOf(maker), author));
    await refused(confirm(id, author), 403, 'who made the secret id');
    await refused(confirm(id, maker), 403, 'who made the identity');
    assert.equal(await storedValue(target), 'first');
    await ok(confirm(id));
    assert.equal(await storedValue(target), 'from-upstream');
  });

  it('counts everyone where a release that didn’t store it changed the rule or identity', async () => {
    const caller = { id: authorId, proof: { rows: [] } } as never;
    const row = { revision: 1, created_by: 'maker' };
    assert.deepEqual(writersOf(row, undefined), ['maker']);
    assert.deepEqual(writersOf({ ...row, revision: 2 }, undefined), [unknownWriter]);
    assert.deepEqual(writersOf({ ...row, revision: 3 }, { revision: 2, ids: ['one'] }), [unknownWriter]);
    const after = writtenBy(caller, { ...row, revision: 2 }, { revision: 2, ids: ['one'] });
    assert.deepEqual(after, { revision: 3, ids: ['one', authorId] });
    const many = { revision: 2, ids: Array.from({ length: 16 }, (_, at) => `${at}`) };
    assert.deepEqual(writtenBy(caller, { ...row, revision: 2 }, many).ids, [unknownWriter]);
    assert.equal(areSame([unknownWriter], ['anyone']), true);
  });

  it('is refused once the access key that was used could no longer make the call', async t => {
    const { target, proposedBy } = await storing(t);
    const gone = async (id: string, about: string) =>
      assert.match(await refused(confirm(id), 400, about), /author may no longer/, about);
    const agent = await agentOf(owner);
    const child = await callService(service.url, 'POST', '/vault/v1/auth/token/create', {}, null, {
      'x-vault-token': agent.token,
    });
    const ofChild = await proposedBy(child.body.auth.client_token);
    const narrowed = await agentOf(owner);
    const ofNarrowed = await proposedBy(narrowed.token);
    await ok(owner.call('PUT', `/v1/access-keys/${narrowed.id}`, { names: ['SOMETHING_ELSE'] }));
    await gone(ofNarrowed, 'a key that no longer sees the secret');
    const idle = await agentOf(owner);
    const ofIdle = await proposedBy(idle.token);
    await ok(owner.call('PUT', `/v1/access-keys/${idle.id}`, { may_use: false }));
    await gone(ofIdle, 'a key that may no longer use');
    await ok(owner.call('DELETE', `/v1/access-keys/${agent.id}`));
    await gone(ofChild, 'a child of a revoked key');
    for (const end of ['changed', 'deleted']) {
      const identity = await identityOf(owner);
      const id = await proposedBy(await loggedIn(identity, owner));
      if (end === 'deleted') await ok(owner.call('DELETE', `/v1/identities/${identity.id}`));
      else await ok(owner.call('PUT', `/v1/identities/${identity.id}`, { may_use: false }));
      await gone(id, `an identity that was ${end}`);
    }
    assert.equal(await storedValue(target), 'first');
  });

  it('is refused once the rule of a call was changed or deleted', async t => {
    const { rule, target, proposedBy } = await storing(t);
    const { token } = await agentOf(owner);
    const gone = async (id: string) => assert.match(await refused(confirm(id), 400), /author may no longer/);
    const before = await proposedBy(token);
    await ok(owner.call('PUT', `/v1/use-rules/${rule.id}`, { timeout: 20 }));
    await gone(before);
    const last = await proposedBy(token);
    await ok(owner.call('DELETE', `/v1/use-rules/${rule.id}`));
    await gone(last);
    assert.equal(await storedValue(target), 'first');
  });
});
