/** Notes and owners of secrets: for people, not for readers; sealed, recorded, and kept by changes of other fields. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { onBothEngines } from './at-once.ts';
import { type Json, unique } from './document.ts';
import { callService, type Service, startService } from './harness.ts';
import { inDatabase } from './storage.ts';

onBothEngines('notes and owners of secrets', engine => {
  let service: Service;
  let vaultId: string;
  let ada: string;

  before(async () => {
    service = await startService({ engine });
    vaultId = (await ok('POST', '/v1/vaults', { name: 'notes' })).id;
    ada = (await ok('POST', '/v1/members', { email: 'ada@example.com', role: 'editor' })).id;
  });
  after(() => service.stop());

  async function ok(method: string, path: string, body?: unknown, key?: string): Promise<Json> {
    const answer = await service.call(method, path, body, key);
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    return answer.body;
  }
  const make = (body: object) =>
    ok('POST', '/v1/secrets', { vault_id: vaultId, name: unique('NOTED'), value: 'one', ...body });
  const get = ({ id }: Json) => ok('GET', `/v1/secrets/${id}`);
  const change = ({ id }: Json, body: object) => ok('PUT', `/v1/secrets/${id}`, body);
  const shown = ({ note, owner_id, tags, version }: Json) => [note, owner_id, tags, version];

  it('are empty unless given, and change by themselves', async () => {
    const secret = await make({});
    assert.deepEqual(shown(secret), ['', null, {}, 1]);
    const note = '# Where it comes from\r\n\n- the *provider*\t(read-only)';
    assert.deepEqual(shown(await change(secret, { note })), [note, null, {}, 1]);
    assert.deepEqual(shown(await change(secret, { owner_id: ada })), [note, ada, {}, 1]);
    assert.deepEqual(shown(await change(secret, { tags: { a: 'b' } })), [note, ada, { a: 'b' }, 1]);
    assert.deepEqual(shown(await change(secret, { value: 'two' })), [note, ada, { a: 'b' }, 2]);
    const rolled = await ok('POST', `/v1/secrets/${secret.id}/rollback`, { version: 1 });
    assert.deepEqual(shown(rolled), [note, ada, { a: 'b' }, 3]);
    const got = await get(secret);
    assert.deepEqual(shown(await change(secret, { ...got })), shown(got), 'as it was fetched');
    const { data } = await ok('GET', `/v1/secrets?q=${secret.name}`);
    assert.deepEqual(shown(data[0]), shown(got));
    assert.deepEqual(shown(await change(secret, { note: '', owner_id: null })), ['', null, { a: 'b' }, 3]);
    const entries = (await ok('GET', `/v1/audit-logs?subject_id=${secret.id}`)).data;
    assert.deepEqual(entries[0].details.changed, ['note', 'ownerId']);
    assert.equal(JSON.stringify(entries).includes('provider'), false, 'what it says is in no entry');
  });

  it('come with a new secret, also among many, and a note with a copy', async () => {
    const secret = await make({ note: 'mine', owner_id: ada });
    assert.deepEqual(shown(await get(secret)), ['mine', ada, {}, 1]);
    const item = { vault_id: vaultId, name: unique('BULK'), value: 'x', note: 'many', owner_id: ada };
    const { results } = await ok('POST', '/v1/secrets/bulk', {
      items: [item, { id: secret.id, note: 'changed' }],
    });
    assert.deepEqual(
      results.map(({ secret }: Json) => [secret.note, secret.owner_id]),
      [
        ['many', ada],
        ['changed', ada],
      ],
    );
    const { id: elsewhere } = await ok('POST', '/v1/vaults', { name: unique('elsewhere') });
    const copied = await ok('POST', '/v1/secrets/copy', { secret_ids: [secret.id], vault_id: elsewhere });
    assert.deepEqual(shown(copied.results[0].secret), ['changed', null, {}, 1]);
  });

  it('are for people: no reader of the vault gets them, and the database has the note sealed', async () => {
    const secret = await make({ note: 'a note that nobody reads', owner_id: ada });
    const { token } = await ok('POST', '/v1/access-keys', { vault_id: vaultId, name: unique('reader') });
    for (const query of ['', `?name=${secret.name}`, `?resource=${secret.id}`]) {
      const path = `/api/v1/vaults/${vaultId}${query}`;
      const { status, text } = await callService(service.url, 'GET', path, undefined, token);
      assert.equal(status, 200);
      assert.equal(/nobody reads/.test(text) || text.includes(ada), false);
    }
    const [row] = await inDatabase(
      service,
      'SELECT attributes, labels FROM resources WHERE id = ?',
      secret.id,
    );
    assert.equal(row!.attributes, JSON.stringify({ owner_id: ada }));
    assert.equal(Buffer.from(row!.labels as Uint8Array).includes('nobody reads'), false);
  });

  it('have bounds', async () => {
    const secret = await make({ note: '€'.repeat(4_096) });
    const refused = async (body: object, field: string, reason: RegExp) => {
      const { status, body: answer, text } = await service.call('PUT', `/v1/secrets/${secret.id}`, body);
      assert.equal(status, 400, text);
      assert.equal(answer.error.details.field, field);
      assert.match(answer.error.details.reason, reason);
    };
    await refused({ note: 'x'.repeat(4_097) }, 'note', /at most 4096/);
    await refused({ note: 'a\u0000b' }, 'note', /control characters/);
    await refused({ note: 'a\u202eb' }, 'note', /bidirectional/);
    await refused({ note: null }, 'note', /string/);
    await refused({ owner_id: 'ada' }, 'owner_id', /./);
  });

  it('an owner is a member of this organization, whom the caller may see or is', async () => {
    const secret = await make({});
    const other = await service.organization(unique('Other'));
    const { data } = (await service.call('GET', '/v1/members', undefined, other.key)).body;
    const nobody = '01999999-9999-7999-8999-999999999999';
    const answers = [];
    for (const owner_id of [nobody, vaultId, ...data.map(({ id }: Json) => id)]) {
      const { status, body } = await service.call('PUT', `/v1/secrets/${secret.id}`, { owner_id });
      assert.equal(status, 400);
      answers.push(JSON.stringify(body));
    }
    assert.equal(new Set(answers).size, 1);
    const editor = await ok('POST', '/v1/api-keys', {
      name: unique('editor'),
      role: 'editor',
      scopes: ['secrets:read', 'secrets:write'],
    });
    for (const owner_id of [ada, nobody]) {
      const body = { owner_id };
      const { status, text } = await service.call('PUT', `/v1/secrets/${secret.id}`, body, editor.token);
      assert.equal(status, 403, text);
    }
    await change(secret, { owner_id: ada });
    const kept = await ok('PUT', `/v1/secrets/${secret.id}`, { owner_id: ada, note: 'x' }, editor.token);
    assert.deepEqual(shown(kept), ['x', ada, {}, 1], 'the owner that it has may stay');
    await ok('PUT', `/v1/secrets/${secret.id}`, { owner_id: null }, editor.token);
  });

  it('an owner who has left is still shown, and can be replaced', async () => {
    const { id } = await ok('POST', '/v1/members', { email: 'bob@example.com', role: 'viewer' });
    const secret = await make({ owner_id: id });
    await ok('DELETE', `/v1/members/${id}`);
    assert.equal((await get(secret)).owner_id, id);
    assert.equal((await change(secret, { owner_id: id, note: 'left' })).owner_id, id);
    assert.equal((await change(secret, { owner_id: ada })).owner_id, ada);
  });
});
