/**
 * Vault's dialect under `/vault/v1`: what its clients send, byte for byte, and what they are answered; and that it is
 * no second way to anything. A read is limited, restricted and recorded as one of the vault endpoint is.
 */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { mintToken } from '../src/access/token.ts';
import { timeOf } from '../src/contract/id.ts';
import { onEngines } from './at-once.ts';
import { forged } from './forged.ts';
import { type Answer, type Service, startService } from './harness.ts';
import { sendRaw } from './raw.ts';

const minute = 61_000;
const anId = /"request_id":"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"/;
const denied = '{"errors":["permission denied"]}';
const nothing = '{"errors":[]}';

/** The envelope of every success, with a request id that stands for any. */
function envelope(data: string, auth = 'null'): string {
  return `{"request_id":"ID","lease_id":"","renewable":false,"lease_duration":0,"data":${data},"wrap_info":null,"warnings":null,"auth":${auth}}`;
}

onEngines('Vault’s dialect', engine => {
  let service: Service;
  let vaultId: string;
  let key: string;
  let keyId: string;
  let plain: Answer['body'];
  let map: Answer['body'];

  const make = async (path: string, body: object): Promise<Answer['body']> => {
    const answer = await service.call('POST', `/v1/${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const call = (method: string, path: string, token: string | null, body?: unknown, headers = {}) =>
    service.call(method, `/vault/v1/${path}`, body, null, {
      ...(token === null ? {} : { 'x-vault-token': token }),
      ...headers,
    });
  const get = (path: string, token: string | null = key, headers = {}) =>
    call('GET', path, token, undefined, headers);
  const accessKey = async (more: object = {}): Promise<string> =>
    (await make('access-keys', { vault_id: vaultId, name: 'restricted', ...more })).token;
  const newest = async (): Promise<Answer['body']> =>
    (await service.call('GET', '/v1/request-logs?limit=1')).body.data[0];

  before(async () => {
    service = await startService({ engine });
    vaultId = (await make('vaults', { name: 'team prod' })).id;
    const made = await make('access-keys', { vault_id: vaultId, name: 'web server' });
    [key, keyId] = [made.token, made.id];
    const place = { vault_id: vaultId, tags: { team: 'payments' } };
    plain = await make('secrets', { ...place, name: 'DATABASE_URL', value: 'postgres://one' });
    await service.call('PUT', `/v1/secrets/${plain.id}`, { value: 'postgres://two' });
    map = await make('secrets', {
      vault_id: vaultId,
      name: 'apps/web',
      value: ' {"user":"app", "limit":12345678901234567890}\n',
      content_type: 'application/json',
    });
  });
  after(() => service.stop());

  const versionsOf = async ({ id }: { id: string }) =>
    (await service.call('GET', `/v1/secrets/${id}/versions`)).body.data as {
      version: number;
      created_at: string;
    }[];

  /** As Go's client sends it: no content type, its own headers, and nothing that it need not. */
  async function go(method: string, target: string, token: string | null, body = '') {
    const lines = [
      `${method} /vault/v1/${target} HTTP/1.1`,
      'Host: localhost',
      'User-Agent: Go-http-client/1.1',
      ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
      ...(token === null ? [] : [`X-Vault-Token: ${token}`]),
      'X-Vault-Request: true',
      'Accept-Encoding: gzip',
    ];
    const answer = await sendRaw(service.url, `${lines.join('\r\n')}\r\n\r\n${body}`, method);
    const said = answer.head.split('\r\n');
    if (answer.status !== 204) assert.ok(said.includes('Content-Type: application/json'), answer.head);
    assert.ok(said.includes('Cache-Control: no-store'), answer.head);
    return { status: answer.status, body: answer.body.replace(anId, '"request_id":"ID"') };
  }

  it('answers what Go’s clients send, byte for byte', async () => {
    const [second, first] = await versionsOf(plain);
    const [only] = await versionsOf(map);
    const row = (await service.call('GET', `/v1/secrets/${plain.id}`)).body;
    const created = new Date(timeOf(keyId)).toISOString();
    const metadata = `{"created_time":"${second!.created_at}","custom_metadata":{"team":"payments"},"deletion_time":"","destroyed":false,"version":2}`;
    const data = envelope(`{"data":{"value":"postgres://two"},"metadata":${metadata}}`);
    const mounted = (path: string) =>
      `{"accessor":"kv_${vaultId.slice(0, 8)}","config":{"default_lease_ttl":0,"force_no_cache":false,"max_lease_ttl":0},"description":"","external_entropy_access":false,"local":false,"options":{"version":"2"},"path":"${path}","plugin_version":"","running_plugin_version":"","running_sha256":"","seal_wrap":false,"type":"kv","uuid":"${vaultId}"}`;
    const table: [method: string, target: string, status: number, body: string][] = [
      ['GET', 'secret/data/DATABASE_URL', 200, data],
      ['GET', 'secret/data/DATABASE_URL?version=2', 200, data],
      ['GET', 'secret/data/DATABASE_URL?version=0', 200, data],
      ['GET', `${vaultId}/data/DATABASE_URL`, 200, data],
      ['GET', 'team%20prod/data/DATABASE_URL', 200, data],
      [
        'GET',
        'secret/data/apps/web',
        200,
        envelope(
          `{"data":{"user":"app", "limit":12345678901234567890},"metadata":{"created_time":"${only!.created_at}","custom_metadata":null,"deletion_time":"","destroyed":false,"version":1}}`,
        ),
      ],
      ['GET', 'secret/data/NOT_THERE', 404, nothing],
      ['GET', 'secret/data/', 404, nothing],
      // An access key shows what is current; what was replaced is for those who may reveal it.
      ['GET', 'secret/data/DATABASE_URL?version=1', 404, nothing],
      ['GET', 'secret/data/DATABASE_URL?version=9', 404, nothing],
      ['GET', 'secret/data/DATABASE_URL?version=x', 400, '{"errors":["version must be a whole number"]}'],
      [
        'GET',
        'secret/metadata/DATABASE_URL',
        200,
        envelope(
          `{"cas_required":false,"created_time":"${first!.created_at}","current_version":2,"custom_metadata":{"team":"payments"},"delete_version_after":"0s","max_versions":0,"oldest_version":2,"updated_time":"${row.updated_at}","versions":{"2":{"created_time":"${second!.created_at}","deletion_time":"","destroyed":false}}}`,
        ),
      ],
      ['GET', 'secret/metadata/?list=true', 200, envelope('{"keys":["DATABASE_URL","apps/"]}')],
      ['GET', 'secret/metadata?list=1', 200, envelope('{"keys":["DATABASE_URL","apps/"]}')],
      ['GET', 'secret/metadata/apps?list=true', 200, envelope('{"keys":["web"]}')],
      ['GET', 'secret/metadata/apps/?list=true', 200, envelope('{"keys":["web"]}')],
      ['GET', 'secret/metadata/app?list=true', 404, nothing],
      ['GET', 'secret/metadata/apps/web?list=true', 404, nothing],
      ['LIST', 'secret/metadata/', 200, envelope('{"keys":["DATABASE_URL","apps/"]}')],
      ['LIST', 'secret/metadata/apps', 200, envelope('{"keys":["web"]}')],
      ['LIST', 'secret/metadata/none', 404, nothing],
      [
        'GET',
        'secret/subkeys/apps/web',
        200,
        envelope(
          `{"metadata":{"created_time":"${only!.created_at}","custom_metadata":null,"deletion_time":"","destroyed":false,"version":1},"subkeys":{"user":null,"limit":null}}`,
        ),
      ],
      [
        'GET',
        'secret/config',
        200,
        envelope('{"cas_required":false,"delete_version_after":"0s","max_versions":0}'),
      ],
      ['GET', 'sys/internal/ui/mounts/secret/data/x', 200, envelope(mounted('secret/'))],
      ['GET', 'sys/internal/ui/mounts/team%20prod', 200, envelope(mounted('team prod/'))],
      [
        'GET',
        'sys/internal/ui/mounts/kv/x',
        403,
        '{"errors":["preflight capability check returned 403, please ensure client\'s policies grant access to the path"]}',
      ],
      [
        'GET',
        'auth/token/lookup-self',
        200,
        envelope(
          `{"accessor":"${keyId}","creation_time":${Math.floor(Date.parse(created) / 1000)},"creation_ttl":0,"display_name":"web server","entity_id":"","expire_time":null,"explicit_max_ttl":0,"id":"${key}","issue_time":"${created}","meta":null,"num_uses":0,"orphan":true,"path":"auth/token/create","policies":["default"],"renewable":false,"ttl":0,"type":"service"}`,
        ),
      ],
      [
        'PUT',
        'auth/token/renew-self',
        200,
        envelope(
          'null',
          `{"client_token":"${key}","accessor":"${keyId}","policies":["default"],"token_policies":["default"],"metadata":null,"lease_duration":0,"renewable":false,"entity_id":"","token_type":"service","orphan":true,"mfa_requirement":null,"num_uses":0}`,
        ),
      ],
      ['PUT', 'secret/data/DATABASE_URL', 403, denied],
      ['DELETE', 'secret/data/DATABASE_URL', 403, denied],
      ['GET', 'kv/data/DATABASE_URL', 403, denied],
      [
        'GET',
        'secret/DATABASE_URL',
        404,
        '{"errors":["this is a versioned key/value store (version 2): read {mount}/data/{path}"]}',
      ],
      ['GET', 'sys/mounts', 404, '{"errors":["unsupported path"]}'],
      ['POST', 'sys/mounts', 404, '{"errors":["unsupported path"]}'],
      ['PUT', 'sys/policies/acl/ours', 404, '{"errors":["unsupported path"]}'],
      ['POST', 'auth/token/lookup', 404, '{"errors":["unsupported path"]}'],
      ['GET', 'auth/approle/login', 404, '{"errors":["unsupported path"]}'],
    ];
    for (const [method, target, status, body] of table) {
      const sent = method === 'PUT' ? '{"increment":"0"}' : '';
      assert.deepEqual(await go(method, target, key, sent), { status, body }, `${method} ${target}`);
    }
  });

  it('gives a whole vault as one map, and takes a bearer token too', async () => {
    const { body } = await service.call('GET', '/vault/v1/secret/data/_all', undefined, key);
    assert.deepEqual(body.data.data, {
      DATABASE_URL: 'postgres://two',
      'apps/web': ' {"user":"app", "limit":12345678901234567890}\n',
    });
    const both = { authorization: `Bearer ${key}` };
    assert.equal((await get('secret/data/DATABASE_URL', key, both)).status, 200);
    const disagreeing = await get('secret/data/DATABASE_URL', forged(key), both);
    assert.equal(disagreeing.text, denied);
    service.clock.pass(minute);
  });

  it('tells without a credential that it is up, with the status that was chosen for that', async () => {
    const health = await get('sys/health', null);
    assert.equal(health.status, 200);
    assert.deepEqual(
      { ...health.body, server_time_utc: 0 },
      {
        initialized: true,
        sealed: false,
        standby: false,
        performance_standby: false,
        replication_performance_mode: 'disabled',
        replication_dr_mode: 'disabled',
        server_time_utc: 0,
        version: '1.21.0',
        cluster_name: 'strongroom',
        cluster_id: '',
      },
    );
    const codes = 'uninitcode=299&sealedcode=299&standbycode=299&drsecondarycode=299';
    assert.equal((await get(`sys/health?${codes}`, null)).status, 200);
    assert.equal((await get('sys/health?activecode=204', null)).status, 204);
    assert.equal((await call('HEAD', 'sys/health', null)).status, 200);
    assert.equal((await get('sys/seal-status', null)).body.sealed, false);
    assert.equal((await get('sys/init', null)).text, '{"initialized":true}');
  });

  it('is recorded like every vault read, under the route of the dialect, before it is answered', async () => {
    const answer = await get('secret/data/apps/web');
    const entry = await newest();
    assert.equal(entry.id, answer.body.request_id);
    assert.equal(entry.receipt, answer.headers.get('strongroom-receipt'));
    assert.deepEqual(
      [entry.route, entry.method, entry.status, entry.requested, entry.access_key_id, entry.vault_id],
      ['/vault/v1/{mount}/data/{path}', 'GET', 200, 'secret=value apps/web', keyId, vaultId],
    );
    await get('kv/data/CANARY-name');
    const refused = await newest();
    assert.deepEqual([refused.success, refused.status, refused.vault_id], [false, 401, vaultId]);
    await call('POST', 'secret/data/x', key, { data: { value: 'CANARY' } });
    assert.deepEqual([(await newest()).method, (await newest()).status], ['POST', 403]);
    for (const path of [
      '//vault/v1/secret/data/x',
      '/vault/v1/secret/data/%2e%2e/x',
      '/VAULT/v1/x',
      '/vault',
    ]) {
      const odd = await sendRaw(
        service.url,
        `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Vault-Token: ${key}\r\n\r\n`,
      );
      assert.deepEqual(Object.keys(JSON.parse(odd.body)), ['errors'], path);
      assert.equal((await newest()).success, false, path);
    }
    const { text } = await service.call('GET', '/v1/request-logs?limit=20');
    assert.ok(!text.includes('CANARY') && !text.includes(key));
  });

  it('a token that is none, in whichever way, gets the same 403 everywhere', async () => {
    const revoked = await make('access-keys', { vault_id: vaultId, name: 'revoked' });
    await service.call('DELETE', `/v1/access-keys/${revoked.id}`);
    const tokens: Record<string, string | null> = {
      none: null,
      empty: '',
      malformed: 's.1234567890',
      unknown: mintToken('vault', '01999999-9999-7999-8999-999999999999'),
      forged: forged(key),
      revoked: revoked.token,
      expired: await accessKey({ expiration_date: soon() }),
      elsewhere: await accessKey({ cidrs: ['192.0.2.0/24'] }),
      'a forged API key': forged(service.key),
    };
    service.clock.pass(1_000);
    const seen = new Set<string>();
    for (const [kind, token] of Object.entries(tokens)) {
      for (const [method, path] of [
        ['GET', 'secret/data/DATABASE_URL'],
        ['GET', 'secret/data/NOT_THERE'],
        ['GET', `${vaultId}/metadata/?list=true`],
        ['GET', 'auth/token/lookup-self'],
        ['GET', 'sys/internal/ui/mounts/secret'],
        ['GET', 'sys/mounts'],
        ['POST', 'secret/data/DATABASE_URL'],
        ['PUT', 'auth/token/renew-self'],
        ['POST', 'auth/token/create'],
        ['PUT', 'auth/token/revoke-self'],
      ] as const) {
        service.clock.pass(2_000); // More than 60 failures a minute would be limited.
        const answer = await call(method, path, token, undefined);
        assert.equal(answer.status, 403, `${method} ${path} with ${kind}: ${answer.text}`);
        seen.add(answer.text);
      }
    }
    assert.deepEqual([...seen], [denied]);
    service.clock.standInNewMinute();
    const limited = new Set<number>();
    for (let attempt = 0; attempt < 80; attempt++)
      limited.add((await get('secret/data/DATABASE_URL', forged(key))).status);
    assert.deepEqual(limited, new Set([403, 429]));
    const last = await get('secret/data/DATABASE_URL', forged(key));
    assert.equal(last.text, '{"errors":["rate limit quota exceeded"]}');
    assert.ok(Number(last.headers.get('retry-after')) > 0);
    assert.equal((await get('secret/data/DATABASE_URL')).status, 200, 'a good one is served');
    service.clock.run();
    service.clock.pass(minute);
  });

  it('refuses what it can’t keep: namespaces and wrapped answers, of good tokens only', async () => {
    const namespaced = await get('secret/data/DATABASE_URL', key, { 'x-vault-namespace': 'team' });
    assert.deepEqual([namespaced.status, namespaced.text], [404, nothing]);
    for (const none of ['', '/', 'root/'])
      assert.equal((await get('secret/config', key, { 'x-vault-namespace': none })).status, 200);
    const wrapped = await get('secret/data/DATABASE_URL', key, { 'x-vault-wrap-ttl': '60' });
    assert.deepEqual(
      [wrapped.status, wrapped.text],
      [400, '{"errors":["X-Vault-Wrap-TTL is not supported"]}'],
    );
    const stranger = await get('secret/data/x', forged(key), { 'x-vault-namespace': 'team' });
    assert.equal(stranger.text, denied);
    const api = await call('GET', `${vaultId}/data/x`, service.key, undefined, { 'x-vault-wrap-ttl': '60' });
    assert.equal(api.status, 400);
  });

  it('a restricted access key sees no more than at the vault endpoint', async () => {
    const namesOnly = await accessKey({ names_only: true });
    assert.equal((await get('secret/data/DATABASE_URL', namesOnly)).text, denied);
    assert.equal((await get('secret/data/_all', namesOnly)).text, denied);
    assert.equal((await get('secret/subkeys/apps/web', namesOnly)).text, denied);
    const { status, body, text } = await get('secret/metadata/DATABASE_URL', namesOnly);
    assert.equal(status, 200);
    assert.equal(body.data.custom_metadata, null);
    assert.ok(!text.includes('payments'));
    const apps = await accessKey({ names: ['apps/*'] });
    assert.deepEqual((await get('secret/metadata/?list=true', apps)).body.data.keys, ['apps/']);
    for (const path of ['data', 'metadata', 'subkeys'])
      assert.equal((await get(`secret/${path}/DATABASE_URL`, apps)).text, nothing);
    assert.deepEqual(Object.keys((await get('secret/data/_all', apps)).body.data.data), ['apps/web']);
    const noSecrets = await accessKey({ kinds: ['key'] });
    assert.equal((await get('secret/data/DATABASE_URL', noSecrets)).text, nothing);
    assert.equal((await get('secret/metadata/?list=true', noSecrets)).text, nothing);
  });

  it('counts uses and rates of an access key, whatever it asks for', async () => {
    const twice = await accessKey({ max_uses: 2 });
    assert.equal((await get('auth/token/lookup-self', twice)).body.data.num_uses, 2);
    assert.equal((await get('secret/data/DATABASE_URL', twice)).status, 200);
    assert.equal((await get('secret/data/DATABASE_URL', twice)).text, denied);
    service.clock.standInNewMinute();
    const slow = await accessKey({ rate_limit: 2 });
    assert.equal((await get('secret/config', slow)).status, 200);
    assert.equal((await call('PUT', 'auth/token/renew-self', slow, {})).status, 200);
    const third = await get('secret/data/DATABASE_URL', slow);
    assert.deepEqual([third.status, third.text], [429, '{"errors":["rate limit quota exceeded"]}']);
    assert.ok(Number(third.headers.get('retry-after')) > 0);
    service.clock.run();
  });

  /** Is over once a second has passed. */
  const soon = () => new Date(service.clock.now() + 1_000).toISOString();

  it('what is disabled, deleted, expired or not active yet is not there, for either kind of key', async () => {
    const later = new Date(service.clock.now() + 86_400_000).toISOString();
    const states = {
      off: { enabled: false },
      past: { expiration_date: soon() },
      future: { activation_date: later },
    };
    for (const [name, more] of Object.entries(states))
      await make('secrets', { vault_id: vaultId, name: `state/${name}`, value: 'CANARY', ...more });
    const gone = await make('secrets', { vault_id: vaultId, name: 'state/gone', value: 'CANARY' });
    await service.call('DELETE', `/v1/secrets/${gone.id}`);
    service.clock.pass(1_000);
    for (const name of ['off', 'past', 'future', 'gone']) {
      for (const path of [`data/state/${name}`, `metadata/state/${name}`, `subkeys/state/${name}`]) {
        assert.equal((await get(`secret/${path}`)).text, nothing, path);
        const byApiKey = await get(`${vaultId}/${path}`, service.key);
        assert.equal(byApiKey.status, 404, path);
        assert.ok(!byApiKey.text.includes('CANARY'));
      }
    }
    for (const token of [key, service.key])
      assert.equal((await get(`${vaultId}/metadata/state?list=true`, token)).text, nothing);
    // Whoever may see what is in the trash is told since when.
    const { body } = await get(`${vaultId}/data/state/gone`, service.key);
    assert.equal(body.data.data, null);
    assert.ok(Date.parse(body.data.metadata.deletion_time) > 0);
  });

  it('a change is seen by the next read, and a kept answer is nobody else’s', async () => {
    const secret = await make('secrets', { vault_id: vaultId, name: 'CHANGING', value: 'one' });
    const apps = await accessKey({ names: ['apps/*'] });
    for (const value of ['two', 'three']) {
      for (let turn = 0; turn < 2; turn++) {
        assert.equal((await get('secret/data/CHANGING', apps)).text, nothing);
        assert.equal((await get('team%20prod/data/CHANGING')).status, 200);
      }
      await service.call('PUT', `/v1/secrets/${secret.id}`, { value });
      assert.deepEqual((await get('secret/data/CHANGING')).body.data.data, { value });
    }
    const first = await get('secret/data/CHANGING');
    const second = await get('secret/data/CHANGING');
    assert.notEqual(first.body.request_id, second.body.request_id);
    await service.call('PUT', `/v1/vaults/${vaultId}`, { name: 'renamed' });
    assert.equal((await get('team%20prod/data/CHANGING')).text, denied);
    assert.equal((await get('renamed/data/CHANGING')).status, 200);
    await service.call('PUT', `/v1/vaults/${vaultId}`, { name: 'team prod' });
  });

  it('another organization’s vault is like one that never was, by id and by name', async () => {
    const other = await service.organization(`Other ${engine}`);
    const [theirs] = [(await service.call('POST', '/v1/vaults', { name: 'theirs' }, other.key)).body.id];
    await service.call('POST', '/v1/secrets', { vault_id: theirs, name: 'X', value: 'CANARY' }, other.key);
    const nowhere = '01999999-9999-7999-8999-999999999999';
    for (const token of [key, service.key]) {
      for (const [method, path] of [
        ['GET', 'data/X'],
        ['GET', 'metadata/X'],
        ['GET', 'metadata/?list=true'],
        ['GET', 'subkeys/X'],
        ['GET', 'config'],
        ['POST', 'data/X'],
        ['PATCH', 'data/X'],
        ['DELETE', 'data/X'],
        ['POST', 'undelete/X'],
        ['DELETE', 'metadata/X'],
        ['POST', 'metadata/X'],
      ] as const) {
        service.clock.pass(2_000);
        const body = {
          POST: { data: { value: 'x' }, versions: [1], custom_metadata: {} },
          PATCH: { data: { value: 'x' } },
          GET: undefined,
          DELETE: undefined,
        }[method];
        const answers = await Promise.all(
          [theirs, nowhere].map(mount => call(method, `${mount}/${path}`, token, body)),
        );
        const [one, two] = answers.map(({ status, text }) => ({ status, text }));
        assert.deepEqual(one, two, `${method} ${path}`);
        assert.ok([204, 403, 404].includes(one!.status), `${method} ${path}: ${one!.text}`);
        assert.ok(!one!.text.includes('CANARY'));
      }
      assert.equal((await get('theirs/data/X', token)).status, token === key ? 403 : 404);
      assert.equal((await get(`sys/internal/ui/mounts/${theirs}/x`, token)).status, 403);
    }
    const still = await service.call('GET', `/v1/secrets?vault_id=${theirs}`, undefined, other.key);
    assert.deepEqual(
      still.body.data.map(({ name, version }: { name: string; version: number }) => [name, version]),
      [['X', 1]],
    );
  });
});
