/** Writes and tokens in Vault's dialect: the general API under other names, with its permissions, audit and events. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { onEngines } from './at-once.ts';
import { type Answer, type Service, startService } from './harness.ts';
import { hold } from './sockets.ts';
import { inDatabase } from './storage.ts';

const denied = '{"errors":["permission denied"]}';
const mismatch = '{"errors":["check-and-set parameter did not match the current version"]}';

onEngines('writes in Vault’s dialect', engine => {
  let service: Service;
  let vaultId: string;
  let editor: string;
  let key: string;

  const make = async (path: string, body: object): Promise<Answer['body']> => {
    const answer = await service.call('POST', `/v1/${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const call = (method: string, path: string, body?: unknown, token = editor, headers = {}) =>
    service.call(method, `/vault/v1/${path}`, body, null, { 'x-vault-token': token, ...headers });
  const apiKey = async (more: object): Promise<string> =>
    (await make('api-keys', { name: 'restricted', role: 'owner', ...more })).token;
  const secretNamed = async (name: string): Promise<Answer['body']> =>
    (await service.call('GET', `/v1/secrets?vault_id=${vaultId}&q=${encodeURIComponent(name)}`)).body.data[0];
  const audited = async (): Promise<Answer['body']> =>
    (await service.call('GET', '/v1/audit-logs?limit=1')).body.data[0];
  const reread = async (name: string, token = key) =>
    (await call('GET', `secret/data/${name}`, undefined, token)).body.data?.data;

  before(async () => {
    service = await startService({ engine });
    vaultId = (await make('vaults', { name: 'prod' })).id;
    editor = (await make('api-keys', { name: 'ci', role: 'editor', vault_ids: [vaultId] })).token;
    key = (await make('access-keys', { vault_id: vaultId, name: 'reader' })).token;
  });
  after(() => service.stop());

  it('a map is a JSON secret, digit for digit; a text alone is that text, of the type that it has', async () => {
    const body = '{"data":{"user":"app","large":12345678901234567890,"list":[1.0,{"a":null}]}}';
    const put = await service.call('POST', '/vault/v1/secret/data/app/db', body, null, {
      'x-vault-token': editor,
      'content-type': 'application/x-www-form-urlencoded', // As curl says, which Vault's documentation uses.
    });
    assert.equal(put.status, 200, put.text);
    assert.equal(put.body.data.version, 1);
    const { text } = await call('GET', 'secret/data/app/db', undefined, key);
    assert.ok(
      text.includes('"data":{"user":"app","large":12345678901234567890,"list":[1.0,{"a":null}]}'),
      text,
    );
    assert.equal((await secretNamed('app/db')).content_type, 'application/json');
    await make('secrets', {
      vault_id: vaultId,
      name: 'PEM',
      value: 'x',
      content_type: 'application/x-pem-file',
    });
    await call('PUT', 'secret/data/PEM', { data: { value: 'y' } });
    assert.equal((await secretNamed('PEM')).content_type, 'application/x-pem-file');
    assert.deepEqual(await reread('PEM'), { value: 'y' });
    await call('PUT', 'secret/data/app/db', { data: { value: 'now a text' } });
    assert.equal((await secretNamed('app/db')).content_type, 'text/plain');
  });

  it('check-and-set: 0 creates only, a version replaces only that one, however many try at once', async () => {
    const set = (value: string, cas?: number) =>
      call('POST', 'secret/data/cas', {
        data: { value },
        ...(cas === undefined ? {} : { options: { cas } }),
      });
    assert.equal((await set('a', 1)).text, mismatch);
    const made = await Promise.all(['b', 'c', 'd', 'e'].map(value => set(value, 0)));
    assert.deepEqual(made.map(({ status }) => status).sort(), [200, 400, 400, 400]);
    const next = await Promise.all(['f', 'g', 'h', 'i'].map(value => set(value, 1)));
    assert.deepEqual(next.map(({ status }) => status).sort(), [200, 400, 400, 400]);
    for (const { text } of [...made, ...next].filter(({ status }) => status === 400))
      assert.equal(text, mismatch);
    assert.equal((await secretNamed('cas')).version, 2);
    const free = await Promise.all(['j', 'k', 'l'].map(value => set(value)));
    assert.deepEqual(
      free.map(({ body }) => body.data.version).sort(),
      [3, 4, 5],
      'without it all are stored',
    );
  });

  it('a merge patch changes members, removes those that are null, and creates nothing', async () => {
    const patch = (data: object, options?: object) =>
      call('PATCH', 'secret/data/patched', { data, options }, editor, {
        'content-type': 'application/merge-patch+json',
      });
    assert.equal((await patch({ a: 1 })).status, 404);
    await call('POST', 'secret/data/patched', { data: { a: { b: 1, c: 2 }, d: 3 } });
    assert.equal((await patch({ a: { b: null, e: 4 }, d: null }, { cas: 1 })).status, 200);
    assert.deepEqual(await reread('patched'), { a: { c: 2, e: 4 } });
    assert.equal((await patch({ a: null }, { cas: 1 })).text, mismatch);
  });

  it('a merge patch takes the permission to reveal, so that its outcome tells no one else of a value', async () => {
    const scopes = ['secrets:read', 'secrets:write'];
    const given = { name: 'writer', role: 'editor', vault_ids: [vaultId], scopes };
    const writer = await make('api-keys', given);
    const values = [{ only: 1 }, { value: 'text' }, { a: { b: 'x'.repeat(65_000) } }, 'plain text'];
    const patches = [{ only: null }, { value: null }, { a: { b: null } }, { more: 'y'.repeat(900) }, {}];
    const seen = new Set<string>();
    for (const [at, value] of values.entries()) {
      const data = typeof value === 'string' ? { value } : value;
      await call('POST', `secret/data/game-${at}`, { data });
      for (const patch of patches) {
        const answer = await call('PATCH', `secret/data/game-${at}`, { data: patch }, writer.token);
        seen.add(`${answer.status} ${answer.text}`);
      }
    }
    const absent = await call('PATCH', 'secret/data/game-none', { data: {} }, writer.token);
    seen.add(`${absent.status} ${absent.text}`);
    assert.deepEqual([...seen], [`403 ${denied}`]);
    const put = await call('POST', 'secret/data/game-0', { data: { value: 'new' } }, writer.token);
    assert.equal(put.status, 200, 'writing is still theirs');
  });

  it('old versions are for those who may reveal, and each reveal is audited', async () => {
    for (const value of ['one', 'two']) await call('POST', 'secret/data/versions', { data: { value } });
    const old = await call('GET', 'prod/data/versions?version=1');
    assert.deepEqual(old.body.data.data, { value: 'one' });
    assert.equal(old.body.data.metadata.version, 1);
    const entry = await audited();
    assert.deepEqual([entry.action, entry.details.version], ['secret.revealed', 1]);
    const { data } = (await call('GET', 'secret/metadata/versions')).body;
    assert.deepEqual(
      [data.current_version, data.oldest_version, Object.keys(data.versions)],
      [2, 1, ['1', '2']],
    );
    assert.equal((await call('GET', 'secret/data/versions?version=3')).status, 404);
  });

  it('delete, undelete and the removal of all versions', async () => {
    await call('POST', 'secret/data/life', { data: { value: 'x' } });
    assert.equal((await call('POST', 'secret/delete/life', { versions: [7] })).status, 204);
    assert.deepEqual(await reread('life'), { value: 'x' }, 'another version was meant');
    assert.equal((await call('DELETE', 'secret/data/life')).status, 204);
    assert.equal((await audited()).action, 'secret.deleted');
    assert.equal(await reread('life'), undefined);
    assert.equal((await call('POST', 'secret/undelete/life', { versions: ['1'] })).status, 204);
    assert.deepEqual(await reread('life'), { value: 'x' });
    assert.equal((await call('PUT', 'secret/destroy/life', { versions: [1] })).status, 405);
    assert.equal((await call('DELETE', 'secret/metadata/life')).status, 204);
    assert.equal((await audited()).action, 'secret.purged');
    assert.equal((await call('GET', 'secret/data/life')).text, '{"errors":[]}');
    assert.equal((await call('DELETE', 'secret/data/life')).status, 204, 'nothing is there to delete');
  });

  it('custom metadata are tags; settings that can’t be kept are refused', async () => {
    await call('POST', 'secret/data/tagged', { data: { value: 'x' } });
    const tags = { team: 'payments' };
    assert.equal((await call('POST', 'secret/metadata/tagged', { custom_metadata: tags })).status, 204);
    assert.deepEqual((await secretNamed('tagged')).tags, tags);
    assert.equal((await call('POST', 'secret/metadata/tagged', { max_versions: 3 })).status, 400);
    assert.equal((await call('POST', 'secret/metadata/none', { custom_metadata: tags })).status, 404);
  });

  it('an API key does what it may, and finds the vaults that it is given', async () => {
    await call('POST', 'secret/data/mine', { data: { value: 'CANARY' } });
    const reader = await apiKey({ scopes: ['vaults:read', 'secrets:read'] });
    const writer = await apiKey({ scopes: ['secrets:write'] });
    const other = (await make('vaults', { name: 'other' })).id;
    const elsewhere = await apiKey({ vault_ids: [other] });
    const admin = await apiKey({ role: 'admin' });
    assert.equal((await call('GET', 'prod/data/mine', undefined, reader)).text, denied);
    assert.equal((await call('GET', 'prod/metadata/mine', undefined, reader)).status, 200);
    assert.equal(
      (await call('GET', 'prod/data/mine', undefined, admin)).text,
      denied,
      'managing is no reading',
    );
    assert.equal((await call('POST', 'prod/data/mine', { data: {} }, reader)).text, denied);
    assert.equal((await audited()).outcome, 'denied');
    assert.equal(
      (await call('POST', 'prod/data/mine', { data: {} }, writer)).text,
      denied,
      'names are to be read',
    );
    assert.equal(
      (await call('POST', `${vaultId}/data/mine`, { data: { value: 'new' } }, writer)).status,
      200,
    );
    assert.equal((await call('GET', `${vaultId}/data/mine`, undefined, writer)).text, denied);
    for (const mount of ['prod', vaultId, 'secret']) {
      for (const path of ['data/mine', 'metadata/mine'])
        assert.equal(
          (await call('GET', `${mount}/${path}`, undefined, elsewhere)).text,
          '{"errors":[]}',
          mount,
        );
      assert.equal(
        (await call('DELETE', `${mount}/metadata/mine`, undefined, elsewhere)).status,
        mount === 'prod' ? 404 : 204,
      );
    }
    assert.deepEqual(await reread('mine'), { value: 'new' });
    assert.equal(
      (await call('GET', 'secret/data/mine', undefined, service.key)).status,
      404,
      'it has many vaults',
    );
    assert.equal((await call('GET', 'prod/data/_all')).status, 405);
  });

  it('refuses bodies that are none, without a word of what was sent', async () => {
    const bodies = [
      undefined,
      '{',
      '[]',
      '{"data":"CANARY"}',
      '{"data":{"a":1},"data":{"CANARY":2}}',
      '{"options":{}}',
    ];
    for (const body of bodies) {
      const answer = await call('POST', 'secret/data/bad', body);
      assert.equal(answer.status, 400, String(body));
      assert.ok(!answer.text.includes('CANARY'), answer.text);
    }
    const large = await call('POST', 'secret/data/bad', { data: { value: 'x'.repeat(65_537) } });
    assert.equal(large.status, 400);
    const control = await call('POST', 'secret/data/a%07b', { data: { value: 'x' } });
    assert.equal(control.status, 400);
    assert.equal((await call('POST', 'secret/data/_all', { data: { value: 'x' } })).status, 405);
    assert.equal(await secretNamed('bad'), undefined);
  });

  it('is refused where the credential was revoked while the body was on its way', async () => {
    await call('POST', 'secret/data/late', { data: { value: 'before' } });
    const api = await make('api-keys', { name: 'late', role: 'editor', vault_ids: [vaultId] });
    const access = await make('access-keys', { vault_id: vaultId, name: 'late' });
    const late = async (target: string, token: string, body: string, revoke: string) => {
      const head = [
        `POST /vault/v1/${target} HTTP/1.1`,
        'Host: localhost',
        `X-Vault-Token: ${token}`,
        `Content-Length: ${body.length}`,
        'Expect: 100-continue',
      ];
      const held = hold(service.url, `${head.join('\r\n')}\r\n\r\n`);
      assert.match(await held.until(/100 Continue\r\n\r\n/), /100 Continue/);
      assert.equal((await service.call('DELETE', revoke)).status, 200);
      held.socket.write(body);
      const answer = await held.until(/\}$/);
      await held.end();
      assert.match(answer, /HTTP\/1\.1 403 [\s\S]*permission denied/);
    };
    await late('secret/data/late', api.token, '{"data":{"value":"after"}}', `/v1/api-keys/${api.id}`);
    await late('auth/token/create', access.token, '{"ttl":"20m"}', `/v1/access-keys/${access.id}`);
    assert.deepEqual(await reread('late'), { value: 'before' });
  });

  it('counts an API key’s calls against the plan', async () => {
    const { key: limited } = await service.organization(`Limited ${engine}`, 'free');
    service.clock.standInNewMinute();
    const statuses: number[] = [];
    for (let at = 0; at < 101; at++)
      statuses.push((await call('GET', 'auth/token/lookup-self', undefined, limited)).status);
    assert.deepEqual([statuses[0], statuses[99], statuses[100]], [200, 200, 429]);
    service.clock.run();
  });

  it('a child of an access key sees what its parent sees, and ends with it', async () => {
    await call('POST', 'secret/data/child', { data: { value: 'x' } });
    const parent = await make('access-keys', { vault_id: vaultId, name: 'terraform parent', rate_limit: 6 });
    const create = (token: string, body: object = {}) => call('POST', 'auth/token/create', body, token);
    service.clock.standInNewMinute();
    const made = await create(parent.token, { display_name: 'terraform', ttl: '1200s', renewable: false });
    assert.equal(made.status, 200, made.text);
    const { client_token: child, accessor, lease_duration } = made.body.auth;
    assert.equal(lease_duration, 1200);
    const entry = await audited();
    assert.deepEqual(
      [entry.action, entry.actor.id, entry.subject.id],
      ['access-key.created', parent.id, accessor],
    );
    const read = () => call('GET', 'secret/data/child', undefined, child);
    assert.equal((await read()).status, 200);
    assert.equal((await create(child)).text, denied, 'it has no children');
    // One rate for both: this is the sixth request of the minute.
    for (const token of [parent.token, child, parent.token])
      assert.equal((await call('GET', 'secret/config', undefined, token)).status, 200);
    assert.equal((await read()).status, 429);
    service.clock.run();
    service.clock.pass(61_000);
    await service.call('PUT', `/v1/access-keys/${parent.id}`, { names: ['other'], rate_limit: null });
    assert.equal((await read()).status, 404, 'its parent was restricted');
    await service.call('PUT', `/v1/access-keys/${parent.id}`, { names: null, cidrs: ['192.0.2.0/24'] });
    assert.equal((await read()).status, 403);
    await service.call('PUT', `/v1/access-keys/${parent.id}`, { cidrs: null, max_uses: 100 });
    assert.equal((await read()).status, 403, 'its uses would be counted nowhere');
    await service.call('PUT', `/v1/access-keys/${parent.id}`, { max_uses: null });
    assert.equal((await read()).status, 200);
    const update = await service.call('PUT', `/v1/access-keys/${accessor}`, { names: ['x'] });
    assert.equal(update.status, 400);
    await service.call('DELETE', `/v1/access-keys/${parent.id}`);
    assert.equal((await read()).text, denied);
  });

  it('a parent has a hundred children at a time, and no more', async () => {
    const parent = await make('access-keys', { vault_id: vaultId, name: 'of many' });
    const create = (ttl = '1h') => call('POST', 'auth/token/create', { ttl }, parent.token);
    for (let at = 0; at < 20; at++) assert.equal((await create('1m')).status, 200);
    service.clock.pass(61_000);
    for (let at = 0; at < 99; at++) assert.equal((await create()).status, 200, `${at}`);
    const last = (await create()).body.auth;
    assert.equal((await create()).status, 400);
    await call('POST', 'auth/token/revoke-self', undefined, last.client_token);
    assert.equal((await create()).status, 200, 'one was revoked');
    assert.equal((await create()).status, 400);
    service.clock.pass(26 * 3_600_000);
    assert.equal((await create()).status, 200, 'all of them expired');
    const rows = await inDatabase(service, `SELECT id FROM credentials WHERE created_by = '${parent.id}'`);
    assert.equal(rows.length, 1, 'and are gone');
  });

  it('a child ends when it was told to, with its parent at the latest, and when it says so', async () => {
    await call('POST', 'secret/data/child', { data: { value: 'x' } });
    const soon = new Date(service.clock.now() + 600_000).toISOString();
    const parent = await make('access-keys', { vault_id: vaultId, name: 'short', expiration_date: soon });
    const create = async (body: object, token = parent.token) =>
      (await call('PUT', 'auth/token/create', body, token)).body.auth;
    assert.ok((await create({ ttl: '1h' })).lease_duration <= 600);
    // What `vault token create` sends, whatever its flags.
    const byCommand = {
      policies: null,
      ttl: '0s',
      explicit_max_ttl: '0s',
      period: '0s',
      display_name: '',
      num_uses: 0,
      renewable: true,
      type: 'service',
      entity_alias: '',
    };
    assert.ok((await create(byCommand)).lease_duration > 0);
    for (const field of ['ttl', 'explicit_max_ttl', 'period']) {
      const wrong = await call('POST', 'auth/token/create', { [field]: 'soon' }, parent.token);
      assert.deepEqual([wrong.status, wrong.text.includes(field)], [400, true], wrong.text);
    }
    assert.equal((await call('POST', 'auth/token/create', { period: '1h' }, parent.token)).status, 400);
    assert.equal((await call('POST', 'auth/token/create', { no_parent: true }, parent.token)).status, 400);
    const counted = await make('access-keys', { vault_id: vaultId, name: 'counted', max_uses: 9 });
    assert.equal((await call('POST', 'auth/token/create', {}, counted.token)).text, denied);
    const once = (await create({ num_uses: 1, ttl: 60 })).client_token;
    assert.equal((await call('GET', 'secret/data/child', undefined, once)).status, 200);
    assert.equal((await call('GET', 'secret/data/child', undefined, once)).text, denied);
    const ended = (await create({ ttl: '1m' })).client_token;
    const revoked = (await create({})).client_token;
    const expire = (await call('GET', 'auth/token/lookup-self', undefined, ended)).body.data;
    assert.ok(expire.ttl > 50 && Date.parse(expire.expire_time) > 0);
    assert.equal((await call('PUT', 'auth/token/revoke-self', undefined, revoked)).status, 204);
    assert.equal((await audited()).action, 'access-key.revoked');
    assert.equal((await call('GET', 'secret/data/child', undefined, revoked)).text, denied);
    service.clock.pass(61_000);
    assert.equal((await call('GET', 'secret/data/child', undefined, ended)).text, denied);
    assert.equal((await call('POST', 'auth/token/revoke-self', undefined, parent.token)).status, 204);
    assert.equal((await call('GET', 'secret/config', undefined, parent.token)).text, denied);
    assert.equal((await call('POST', 'auth/token/revoke-self', undefined, editor)).status, 403);
    assert.equal((await call('POST', 'auth/token/create', {}, editor)).status, 403);
  });
});
