/** The interface specification, row by row. The vault endpoint's and the tools' rules have files of their own beside it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import packageJson from '../package.json' with { type: 'json' };
import type { Json } from './document.ts';
import { engines, type Service, startService } from './harness.ts';
import { bareCall, bareSession } from './mcp-world.ts';
import { sendRaw } from './raw.ts';

const utc = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/;

for (const engine of engines) {
  describe(`the specification on ${engine}`, () => {
    let service: Service;
    let vault: Json;
    let secret: Json;
    let reader: string;

    before(async () => {
      service = await startService({ engine });
      vault = await ok('POST', '/v1/resources', { name: 'production' });
      secret = await ok('POST', '/v1/secrets', {
        vault_id: vault.id,
        name: 'S',
        value: 'v',
        tags: { a: 'b' },
      });
      reader = (await ok('POST', '/v1/access-keys', { vault_id: vault.id, name: 'reader' })).token;
    });
    after(() => service.stop());

    async function ok(method: string, path: string, body?: unknown): Promise<Json> {
      const answer = await service.call(method, path, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    }

    const read = async (query = '') =>
      (await service.call('GET', `/api/v1/vaults/${vault.id}${query}`, undefined, reader)).body;

    describe('2. Vault', () => {
      it('id: string, always', async () => assert.equal((await read()).id, vault.id));
      it('name: string, always', async () => assert.equal((await read()).name, 'production'));
      it('secrets: array of Secret, in default mode or with secrets=names', async () => {
        assert.ok(Array.isArray((await read()).secrets));
        assert.ok(Array.isArray((await read('?secrets=names')).secrets));
      });
      it('keys: array, when include contains keys', async () => {
        assert.ok(Array.isArray((await read('?include=keys')).keys));
        assert.equal('keys' in (await read()), false);
      });
      it('certificates: array, when include contains certificates', async () => {
        assert.ok(Array.isArray((await read('?include=certificates')).certificates));
        assert.equal('certificates' in (await read()), false);
      });
    });

    describe('2. Secret', () => {
      it('id, name, value, content_type, tags', async () => {
        const [first] = (await read()).secrets;
        assert.deepEqual(first, {
          id: secret.id,
          name: 'S',
          value: 'v',
          content_type: 'text/plain',
          tags: { a: 'b' },
        });
      });
      it('value, content_type and tags are omitted in names-only mode', async () => {
        const [first] = (await read('?secrets=names')).secrets;
        assert.deepEqual(first, { id: secret.id, name: 'S' });
      });
      it('only active secrets are returned', async () => {
        const off = await ok('POST', '/v1/secrets', {
          vault_id: vault.id,
          name: 'OFF',
          value: 'v',
          enabled: false,
        });
        assert.equal(
          (await read()).secrets.some((one: Json) => one.id === off.id),
          false,
        );
      });
    });

    describe('2. Key (in a vault listing)', () => {
      const generate = { key_type: 'EC', curve: 'P-256' };

      it('id, name, type, key_type, key_size, activation_date, expiration_date, tags', async () => {
        const { id } = await ok('POST', '/v1/keys', { vault_id: vault.id, name: 'K', generate });
        const listed = (await read('?include=keys')).keys.find((one: Json) => one.id === id);
        assert.deepEqual(listed, {
          id,
          name: 'K',
          type: 'private',
          key_type: 'EC',
          key_size: 256,
          activation_date: null,
          expiration_date: null,
          tags: {},
        });
      });
      it('listed only when activation_date is null or not later than now', async () => {
        const activation_date = '2099-01-01T00:00:00Z';
        const { id } = await ok('POST', '/v1/keys', {
          vault_id: vault.id,
          name: 'LATER',
          generate,
          activation_date,
        });
        assert.equal(
          (await read('?include=keys')).keys.some((one: Json) => one.id === id),
          false,
        );
      });
      it('an expired key is listed as the stub {id, message}', async () => {
        const expiration_date = new Date(service.clock.now() + 1_000).toISOString();
        const { id } = await ok('POST', '/v1/keys', {
          vault_id: vault.id,
          name: 'OVER',
          generate,
          expiration_date,
        });
        service.clock.pass(1_000);
        const listed = (await read('?include=keys')).keys.find((one: Json) => one.id === id);
        assert.deepEqual(listed, { id, message: 'Resource expired' });
      });
    });

    describe('2. Certificate (in a vault listing)', () => {
      it('id, name, type, expires_at, tags; an expired one is the stub {id, message}', async () => {
        const generate = { key_type: 'EC', curve: 'P-256' };
        const key = await ok('POST', '/v1/keys', { vault_id: vault.id, name: 'CK', generate });
        const made = await ok('POST', '/v1/certificates', {
          vault_id: vault.id,
          name: 'C',
          key_id: key.id,
          self_signed: { subject: 'CN=c', days: 1 },
        });
        const find = async () =>
          (await read('?include=certificates')).certificates.find((one: Json) => one.id === made.id);
        const { id, expires_at } = made;
        assert.deepEqual(await find(), { id, name: 'C', type: 'x509', expires_at, tags: {} });
        service.clock.pass(2 * 86_400_000);
        assert.deepEqual(await find(), { id, message: 'Resource expired' });
      });
    });

    describe('2. Generic resource (list item of the general API)', () => {
      const item = async () => (await ok('GET', '/v1/resources')).data[0];
      it('id: string', async () => assert.equal(typeof (await item()).id, 'string'));
      it('name: string', async () => assert.equal(typeof (await item()).name, 'string'));
      it('created_at: ISO 8601 UTC timestamp', async () => assert.match((await item()).created_at, utc));
      it('every collection’s items have all three', async () => {
        await ok('POST', '/v1/members', { email: 'row@example.com', role: 'viewer' });
        for (const name of [
          'resources',
          'vaults',
          'secrets',
          'keys',
          'certificates',
          'access-keys',
          'api-keys',
          'members',
        ]) {
          const [first] = (await ok('GET', `/v1/${name}`)).data;
          assert.equal(typeof first.id, 'string', name);
          assert.equal(typeof first.name, 'string', name);
          assert.match(first.created_at, utc, name);
        }
      });
    });

    describe('2. Pagination object', () => {
      for (const member of ['total', 'page', 'limit'])
        it(`${member}: integer`, async () => {
          const { pagination } = await ok('GET', '/v1/resources?page=1&limit=5');
          assert.ok(Number.isInteger(pagination[member]));
        });
    });

    describe('4.1 Health', () => {
      it('GET /v1/health, without a payload and without a key: status and version, strings', async () => {
        const answer = await service.call('GET', '/v1/health', undefined, null);
        assert.equal(answer.status, 200);
        assert.deepEqual(answer.body, { status: 'ok', version: packageJson.version });
      });
    });

    describe('4.2 Generic resources', () => {
      it('GET /v1/resources: list; query page, limit', async () => {
        const { data, pagination } = await ok('GET', '/v1/resources?page=2&limit=1');
        assert.equal(data.length, 1);
        assert.deepEqual([pagination.page, pagination.limit], [2, 1]);
      });
      it('the list answers an object with data and pagination', async () => {
        assert.deepEqual(Object.keys(await ok('GET', '/v1/resources')).sort(), ['data', 'pagination']);
      });
      it('POST /v1/resources: create', async () => {
        const made = await ok('POST', '/v1/resources', { name: 'made' });
        assert.equal(made.name, 'made');
      });
      it('GET /v1/resources/{id}: get one', async () => {
        assert.equal((await ok('GET', `/v1/resources/${vault.id}`)).name, 'production');
      });
      it('PUT /v1/resources/{id}: update', async () => {
        const made = await ok('POST', '/v1/resources', { name: 'before' });
        assert.equal((await ok('PUT', `/v1/resources/${made.id}`, { name: 'after' })).name, 'after');
      });
      it('DELETE /v1/resources/{id}: delete', async () => {
        const made = await ok('POST', '/v1/resources', { name: 'gone' });
        assert.deepEqual(await ok('DELETE', `/v1/resources/${made.id}`), { id: made.id, deleted: true });
        assert.equal((await service.call('GET', `/v1/resources/${made.id}`)).status, 404);
      });
      it('requests carry Authorization: Bearer <API_KEY>', async () => {
        const headers = { authorization: `Bearer ${service.key}` };
        assert.equal((await service.call('GET', '/v1/resources', undefined, null, headers)).status, 200);
      });
    });

    describe('4.4 Vault read', () => {
      const status = async (query: string, token: string | null = reader) =>
        (await service.call('GET', `/api/v1/vaults/${vault.id}${query}`, undefined, token)).status;

      it('include takes keys, certificates, or both comma-separated', async () => {
        for (const include of ['keys', 'certificates', 'keys,certificates', 'keys, certificates'])
          assert.equal(await status(`?include=${encodeURIComponent(include)}`), 200, include);
      });
      it('4. with resource, none that matches is 404', async () =>
        assert.equal(await status(`?resource=${vault.id}`), 404));
      it('5. a secret by its id is JSON with id, name, value, content_type, tags', async () =>
        assert.deepEqual(Object.keys(await read(`?resource=${secret.id}`)), [
          'id',
          'name',
          'value',
          'content_type',
          'tags',
        ]));
      it('8. a missing or invalid token gives 401', async () => {
        for (const token of [null, 'x', 'sr_vault_x']) assert.equal(await status('', token), 401);
      });
      it('9. every request is written to Request Logs', async () => {
        const total = async () =>
          (await ok('GET', `/v1/request-logs?vault_id=${vault.id}`)).pagination.total as number;
        const before = await total();
        for (const query of ['', '?secrets=names', '?secrets=x', '?resource=x', '/below'])
          await status(query);
        await status('', null);
        await service.call('DELETE', `/api/v1/vaults/${vault.id}`, undefined, reader);
        assert.equal((await total()) - before, 7);
      });
    });

    describe('4.5 Tool endpoint (MCP)', () => {
      it('POST /mcp with Mcp-Session-Id; a body of method and params, without jsonrpc or id', async () => {
        const connection = { vaultId: vault.id, accessKey: reader, baseUrl: service.url };
        const args = { namesOnly: true, vault: { id: vault.id, ...connection }, credentials: connection };
        const session = await bareSession(service.url);
        const { status, body } = await bareCall(service.url, 'secrets.list', args, { session });
        assert.equal(status, 200);
        assert.equal(body.result.structuredContent.vault.id, vault.id);
      });
    });

    describe('5. Authentication', () => {
      it('every general API request requires a valid API key', async () => {
        for (const name of ['resources', 'secrets', 'api-keys', 'audit-logs', 'organization'])
          assert.equal((await service.call('GET', `/v1/${name}`, undefined, null)).status, 401, name);
      });
      it('a missing or invalid token gives 401', async () => {
        for (const key of [null, 'x', 'sr_api_x'])
          assert.equal((await service.call('GET', '/v1/resources', undefined, key)).status, 401);
      });
      it('the vault endpoint takes a Vault Access Key, and the general API does not', async () => {
        assert.equal((await service.call('GET', '/v1/resources', undefined, reader)).status, 401);
        const byApiKey = await service.call('GET', `/api/v1/vaults/${vault.id}`);
        assert.equal(byApiKey.status, 401);
      });
      it('an authenticated caller without permission gets 403 on the general API', async () => {
        const { token } = await ok('POST', '/v1/api-keys', { name: 'viewer', role: 'viewer' });
        assert.equal((await service.call('POST', '/v1/resources', { name: 'x' }, token)).status, 403);
      });
    });

    describe('7. Errors: status codes of the general API', () => {
      it('200 Success', async () => void (await ok('GET', '/v1/resources')));
      it('400 Bad Request', async () =>
        assert.equal((await service.call('POST', '/v1/resources', {})).status, 400));
      it('401 Unauthorized', async () => {
        const { status, body } = await service.call('GET', '/v1/resources', undefined, null);
        assert.deepEqual([status, body.error.code], [401, 'UNAUTHORIZED']);
      });
      it('403 Forbidden', async () => {
        const { token } = await ok('POST', '/v1/api-keys', { name: 'auditor', role: 'auditor' });
        const { status, body } = await service.call('POST', '/v1/resources', { name: 'x' }, token);
        assert.deepEqual([status, body.error.code], [403, 'FORBIDDEN']);
      });
      it('404 Not Found', async () => {
        const { status, body } = await service.call('GET', `/v1/resources/${service.organizationId}`);
        assert.deepEqual([status, body.error.code], [404, 'NOT_FOUND']);
      });
      it('429 Too Many Requests', async () => {
        const { key } = await service.organization('limited', 'enterprise', 1);
        service.clock.standInNewMinute();
        await service.call('GET', '/v1/resources', undefined, key);
        const { status, body } = await service.call('GET', '/v1/resources', undefined, key);
        service.clock.run();
        assert.deepEqual([status, body.error.code], [429, 'RATE_LIMITED']);
      });
    });

    describe('7. Error body of the general API', () => {
      const refused = async () => (await service.call('POST', '/v1/resources', { name: '' })).body;
      it('error.code: string, INVALID_REQUEST', async () =>
        assert.equal((await refused()).error.code, 'INVALID_REQUEST'));
      it('error.message: string', async () => assert.equal(typeof (await refused()).error.message, 'string'));
      it('error.details: object with field and reason', async () =>
        assert.deepEqual((await refused()).error.details, {
          field: 'name',
          reason: 'must be 1 to 255 characters long',
        }));
      it('it has these members and no others', async () => {
        const body = await refused();
        assert.deepEqual(Object.keys(body), ['error']);
        assert.deepEqual(Object.keys(body.error).sort(), ['code', 'details', 'message']);
      });
    });

    describe('8. Limits', () => {
      for (const [plan, limit] of [
        ['free', 100],
        ['pro', 1000],
        ['enterprise', 42],
      ] as const)
        it(`${plan}: ${limit} requests per minute${plan === 'enterprise' ? ' (custom)' : ''}`, async () => {
          const { key } = await service.organization(
            `limits ${plan}`,
            plan,
            plan === 'enterprise' ? limit : 0,
          );
          const { headers } = await service.call('GET', '/v1/resources', undefined, key);
          assert.equal(headers.get('x-ratelimit-limit'), String(limit));
        });
      it('X-RateLimit-Remaining: requests remaining', async () => {
        const { key } = await service.organization('remaining', 'free');
        const { headers } = await service.call('GET', '/v1/resources', undefined, key);
        assert.equal(headers.get('x-ratelimit-remaining'), '99');
      });
      it('X-RateLimit-Reset: Unix timestamp when the limit resets', async () => {
        const { key } = await service.organization('reset', 'free');
        const { headers } = await service.call('GET', '/v1/resources', undefined, key);
        const left = Number(headers.get('x-ratelimit-reset')) - service.clock.now() / 1000;
        assert.ok(left > -1 && left <= 61, String(left));
      });
      it('the three headers go out in the spelling of the specification', async () => {
        const { key } = await service.organization('spelled', 'free');
        const { host } = new URL(service.url);
        const { head } = await sendRaw(
          service.url,
          `GET /v1/resources HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
        );
        for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'])
          assert.ok(head.includes(`\r\n${name}: `), name);
      });
      it('list endpoints accept page and limit: 1 to 100, 20 by default', async () => {
        assert.equal((await ok('GET', '/v1/resources')).pagination.limit, 20);
        await ok('GET', '/v1/resources?limit=100');
        assert.equal((await service.call('GET', '/v1/resources?limit=101')).status, 400);
      });
    });

    it('1. Every vault request is recorded in Request Logs', async () => {
      await read();
      const [entry] = (await ok('GET', `/v1/request-logs?vault_id=${vault.id}`)).data;
      const { success, resource_type, ip_address, route, method, status } = entry;
      assert.deepEqual(
        { success, resource_type, ip_address, route, method, status },
        {
          success: true,
          resource_type: 'vault',
          ip_address: '127.0.0.1',
          route: '/api/v1/vaults/{vault_id}',
          method: 'GET',
          status: 200,
        },
      );
    });
  });
}
