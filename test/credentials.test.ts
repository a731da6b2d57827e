/** API keys, access keys, public tokens, members and the organization, through the general API. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { roles } from '../src/access/policy.ts';
import { type Json, unique } from './document.ts';
import { beside, callService, enginesInTurn, eventually, type Service, startService } from './harness.ts';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`credentials and members on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let keyId: string;

    before(async () => {
      service = await startService({ engine });
      vaultId = (await ok('POST', '/v1/vaults', { name: 'vault' })).id;
      const generate = { key_type: 'EC', curve: 'P-256' };
      keyId = (await ok('POST', '/v1/keys', { vault_id: vaultId, name: 'key', generate })).id;
    });
    after(() => service.stop());

    async function ok(method: string, path: string, body?: unknown, key?: string): Promise<Json> {
      const answer = await service.call(method, path, body, key ?? service.key);
      assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
      return answer.body;
    }

    const mint = (body: object, key?: string) =>
      ok('POST', '/v1/api-keys', { name: unique('key'), role: 'owner', ...body }, key);
    const status = async (method: string, path: string, body: unknown, key: string) =>
      (await service.call(method, path, body, key)).status;

    it('a credential is in the answer that creates it, and in no other', async () => {
      const bodies: [string, object, RegExp][] = [
        ['/v1/api-keys', { name: 'a', role: 'viewer' }, /^sr_api_[0-9A-Za-z]+$/],
        ['/v1/access-keys', { name: 'a', vault_id: vaultId }, /^sr_vault_[0-9A-Za-z]+$/],
        ['/v1/public-tokens', { name: 'a', key_id: keyId }, /^sr_pub_[0-9A-Za-z]+$/],
      ];
      for (const [collection, body, shape] of bodies) {
        const { token, ...record } = await ok('POST', collection, body);
        assert.match(token, shape);
        const others = [
          await service.call('GET', `${collection}/${record.id}`),
          await service.call('GET', collection),
          await service.call('PUT', `${collection}/${record.id}`, { name: 'b' }),
          await service.call('DELETE', `${collection}/${record.id}`),
          await service.call('GET', `/v1/audit-logs?subject_id=${record.id}`),
        ];
        for (const answer of others) {
          assert.equal(answer.status, 200, answer.text);
          assert.equal(answer.text.includes(token.slice(12, 40)), false);
          assert.equal(answer.text.includes('"token"'), false);
        }
        assert.deepEqual(others[0]!.body, record);
        assert.equal((await service.call('GET', `${collection}/${record.id}`)).status, 404);
      }
    });

    it('an API key is revoked at once, and within a second in every other replica', async () => {
      const { id, token } = await mint({});
      await ok('GET', '/v1/vaults', undefined, token);
      const replica = engine === 'postgres' ? await service.replica() : null;
      if (replica !== null)
        assert.equal((await callService(replica.url, 'GET', '/v1/vaults', undefined, token)).status, 200);
      await ok('DELETE', `/v1/api-keys/${id}`);
      assert.equal(await status('GET', '/v1/vaults', undefined, token), 401);
      if (replica === null) return;
      const there = () => callService(replica.url, 'GET', '/v1/vaults', undefined, token);
      await eventually('the replica refuses the revoked key', async () => (await there()).status === 401);
    });

    it('an API key is of use until its expiry, and not at it', async () => {
      const moment = service.clock.now() + 3_600_000;
      const { token } = await mint({ expiration_date: new Date(moment).toISOString() });
      service.clock.standAt(moment - 1);
      assert.equal(await status('GET', '/v1/vaults', undefined, token), 200);
      service.clock.standAt(moment);
      assert.equal(await status('GET', '/v1/vaults', undefined, token), 401);
      service.clock.run();
    });

    it('the last use of an API key is shown', async () => {
      const { id, token } = await mint({});
      assert.equal((await ok('GET', `/v1/api-keys/${id}`)).last_used_at, null);
      const before = Date.now();
      await ok('GET', '/v1/vaults', undefined, token);
      await service.restart(); // Uses are written down every so often, and when the service stops.
      const { last_used_at } = await ok('GET', `/v1/api-keys/${id}`);
      assert.ok(Date.parse(last_used_at) >= before, last_used_at);
    });

    it('nobody makes an API key that may do more than they may', async () => {
      const refused: [maker: object, wanted: object][] = [
        [{ role: 'admin' }, { role: 'owner' }],
        [{ role: 'admin' }, { role: 'editor' }],
        [{ role: 'owner', scopes: ['api-keys:write'] }, { role: 'viewer' }],
        [
          { role: 'owner', scopes: ['api-keys:write', 'vaults:read'] },
          { role: 'owner', scopes: ['vaults:write'] },
        ],
        [{ role: 'owner', vault_ids: [vaultId] }, { role: 'owner' }],
        [
          { role: 'owner', vault_ids: [vaultId] },
          { role: 'owner', vault_ids: [vaultId] },
        ],
      ];
      for (const [maker, wanted] of refused) {
        const { token } = await mint(maker);
        const body = { name: 'more', role: 'viewer', ...wanted };
        assert.equal(await status('POST', '/v1/api-keys', body, token), 403, JSON.stringify([maker, wanted]));
      }
      const { token } = await mint({ role: 'admin' });
      for (const role of ['admin', 'viewer', 'auditor']) await mint({ role }, token);
      await mint({ role: 'owner', scopes: ['secrets:write'] }, token);
    });

    it('nobody gives a longer life to an API key that may do more than they may', async () => {
      const strong = await mint({ expiration_date: '2027-01-01T00:00:00Z' });
      const { token } = await mint({ role: 'admin' });
      assert.equal(await status('PUT', `/v1/api-keys/${strong.id}`, { expiration_date: null }, token), 403);
      await ok('PUT', `/v1/api-keys/${strong.id}`, { expiration_date: null });
    });

    it('role names of another case or with blanks are no roles', async () => {
      for (const role of ['Owner', 'OWNER', ' owner', 'owner ', 'ownеr', '', null, 'root', 'none'])
        assert.equal(
          await status('POST', '/v1/api-keys', { name: 'x', role }, service.key),
          400,
          String(role),
        );
      assert.deepEqual(roles, ['owner', 'admin', 'editor', 'writer', 'reader', 'viewer', 'auditor', 'none']);
    });

    it('an access key keeps its narrowings, and each can be lifted with null', async () => {
      const narrowings = {
        kinds: ['secret', 'key'],
        names: ['WEB_*'],
        names_only: true,
        cidrs: ['10.0.0.0/8', '2001:db8::/32'],
        expiration_date: '2027-01-01T00:00:00.000Z',
        max_uses: 3,
        rate_limit: 60,
      };
      const {
        id,
        token: _token,
        ...made
      } = await ok('POST', '/v1/access-keys', {
        vault_id: vaultId,
        name: 'narrow',
        ...narrowings,
      });
      for (const [name, value] of Object.entries(narrowings)) assert.deepEqual(made[name], value);
      assert.equal(made.uses, 0);
      const renamed = await ok('PUT', `/v1/access-keys/${id}`, { name: 'still narrow' });
      for (const [name, value] of Object.entries(narrowings)) assert.deepEqual(renamed[name], value);
      const lifted = await ok('PUT', `/v1/access-keys/${id}`, {
        kinds: null,
        names: null,
        names_only: false,
        cidrs: null,
        expiration_date: null,
        max_uses: null,
        rate_limit: null,
      });
      assert.deepEqual(
        [lifted.kinds, lifted.names, lifted.names_only, lifted.cidrs, lifted.max_uses, lifted.rate_limit],
        [null, null, false, null, null, null],
      );
    });

    it('whoever sees no values makes no access key that gives them, and widens none', async () => {
      const { token } = await mint({ role: 'admin' });
      const body = { vault_id: vaultId, name: 'reader' };
      assert.equal(await status('POST', '/v1/access-keys', body, token), 403);
      assert.equal(await status('POST', '/v1/access-keys', { ...body, kinds: ['secret'] }, token), 403);
      const certificates = await ok('POST', '/v1/access-keys', { ...body, kinds: ['certificate'] }, token);
      const names = await ok('POST', '/v1/access-keys', { ...body, names_only: true }, token);
      assert.equal(await status('PUT', `/v1/access-keys/${names.id}`, { names_only: false }, token), 403);
      assert.equal(await status('PUT', `/v1/access-keys/${certificates.id}`, { kinds: null }, token), 403);
    });

    it('access keys are listed by vault, public tokens by vault and key', async () => {
      const { id: other } = await ok('POST', '/v1/vaults', { name: unique('other') });
      const { id } = await ok('POST', '/v1/access-keys', { vault_id: other, name: 'only' });
      const list = await ok('GET', `/v1/access-keys?vault_id=${other}`);
      assert.deepEqual([list.data.length, list.data[0].id, list.pagination.total], [1, id, 1]);
      const token = await ok('POST', '/v1/public-tokens', { key_id: keyId });
      assert.equal(token.name, 'key');
      assert.equal(token.vault_id, vaultId);
      assert.equal((await ok('GET', `/v1/public-tokens?key_id=${keyId}`)).data[0].id, token.id);
      assert.equal((await ok('GET', `/v1/public-tokens?vault_id=${other}`)).pagination.total, 0);
      const body = { name: 'narrowed', role: 'owner', vault_ids: [other] };
      const { token: narrowed } = await ok('POST', '/v1/api-keys', body);
      const elsewhere = await ok('GET', `/v1/access-keys?vault_id=${vaultId}`, undefined, narrowed);
      assert.equal(elsewhere.pagination.total, 0);
    });

    it('with a purged vault or key its credentials go from every list; in the trash they wait with it', async () => {
      const id = (await ok('POST', '/v1/vaults', { name: unique('purged') })).id;
      const generate = { key_type: 'EC', curve: 'P-256' };
      const key = (await ok('POST', '/v1/keys', { vault_id: id, name: 'k', generate })).id;
      const expiration_date = new Date(Date.now() + 86_400_000).toISOString();
      const access = await ok('POST', '/v1/access-keys', {
        vault_id: id,
        name: unique('a'),
        expiration_date,
      });
      const token = await ok('POST', '/v1/public-tokens', {
        key_id: key,
        name: unique('t'),
        expiration_date,
      });
      const listed = async () => {
        const of = async (path: string) => (await ok('GET', path)).data.map((item: Json) => item.id);
        const expiring = (await ok('GET', '/v1/overview')).expiring.map((item: Json) => item.id);
        const lists = [
          await of('/v1/access-keys?limit=100'),
          await of('/v1/public-tokens?limit=100'),
          expiring,
        ];
        return lists.map(ids => [access.id, token.id].filter(one => ids.includes(one)).length);
      };
      assert.deepEqual(await listed(), [1, 1, 1]);
      await ok('DELETE', `/v1/vaults/${id}`);
      assert.deepEqual(await listed(), [1, 1, 1]);
      await ok('POST', `/v1/resources/${id}/restore`);
      await ok('DELETE', `/v1/keys/${key}?purge=true`);
      assert.deepEqual(await listed(), [1, 0, 1]);
      await ok('DELETE', `/v1/vaults/${id}?purge=true`);
      assert.deepEqual(await listed(), [0, 0, 0]);
      assert.equal(await status('GET', `/v1/access-keys/${access.id}`, undefined, service.key), 404);
      assert.equal(await status('GET', `/api/v1/vaults/${id}`, undefined, access.token), 401);
    });

    it('a public token gives one key’s public half away, until it expires or is revoked', async () => {
      const proves = (token: string) =>
        beside(service, ({ domain }) =>
          domain.authenticate
            .publicToken(token, { address: '127.0.0.1', userAgent: '' })
            .then(({ keyId: id }) => id)
            .catch(({ code }) => code),
        );
      const lasting = await ok('POST', '/v1/public-tokens', { key_id: keyId });
      const over = await ok('POST', '/v1/public-tokens', {
        key_id: keyId,
        expiration_date: new Date(service.clock.now() + 1_000).toISOString(),
      });
      service.clock.pass(1_000);
      assert.equal(await proves(lasting.token), keyId);
      assert.equal((await service.call('GET', '/api/v1/public-key', undefined, over.token)).status, 401);
      await ok('DELETE', `/v1/public-tokens/${lasting.id}`);
      assert.equal(await proves(lasting.token), 'UNAUTHORIZED');
      const { status: code } = await service.call('POST', '/v1/public-tokens', { key_id: vaultId });
      assert.equal(code, 404);
    });

    it('a member is invited once, whatever the spelling of the address, and changed and removed', async () => {
      const made = await ok('POST', '/v1/members', { email: 'Ada@Example.com', role: 'editor' });
      assert.deepEqual(
        [made.email, made.name, made.state],
        ['Ada@Example.com', 'Ada@Example.com', 'invited'],
      );
      const again = await service.call('POST', '/v1/members', { email: 'ada@example.com', role: 'viewer' });
      assert.equal(again.status, 400);
      assert.equal(again.body.error.code, 'CONFLICT');
      assert.deepEqual(again.body.error.details, { field: 'email', reason: 'is already in use' });
      assert.equal((await ok('PUT', `/v1/members/${made.id}`, { role: 'viewer' })).role, 'viewer');
      await ok('DELETE', `/v1/members/${made.id}`);
      assert.equal((await service.call('GET', `/v1/members/${made.id}`)).status, 404);
      await ok('POST', '/v1/members', { email: 'ada@example.com', role: 'viewer' });
    });

    it('nobody invites, raises or removes a member who may do more than they may', async () => {
      const owner = await ok('POST', '/v1/members', { email: 'owner@example.com', role: 'owner' });
      const viewer = await ok('POST', '/v1/members', { email: 'viewer@example.com', role: 'viewer' });
      const { token } = await mint({ role: 'admin' });
      assert.equal(await status('POST', '/v1/members', { email: 'a@b.co', role: 'owner' }, token), 403);
      assert.equal(await status('PUT', `/v1/members/${viewer.id}`, { role: 'owner' }, token), 403);
      assert.equal(await status('PUT', `/v1/members/${owner.id}`, { role: 'viewer' }, token), 403);
      assert.equal(await status('DELETE', `/v1/members/${owner.id}`, undefined, token), 403);
      assert.equal(await status('DELETE', `/v1/members/${viewer.id}`, undefined, token), 200);
    });

    it('the organization is shown and renamed, and a name that is taken is refused', async () => {
      const shown = await ok('GET', '/v1/organization');
      assert.deepEqual(
        [shown.id, shown.plan, shown.rate_limit],
        [service.organizationId, 'enterprise', null],
      );
      assert.equal((await ok('PUT', '/v1/organization', { name: 'Renamed' })).name, 'Renamed');
      await service.organization('Taken');
      const taken = await service.call('PUT', '/v1/organization', { name: 'Taken' });
      assert.equal(taken.body.error.code, 'CONFLICT');
      assert.equal(taken.body.error.details.field, 'name');
    });
  });
}
