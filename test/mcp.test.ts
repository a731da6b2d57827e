import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { forged } from './forged.ts';
import { enginesInTurn } from './harness.ts';
import {
  bareCall,
  bareSession,
  makeAccessKey,
  makeKey,
  modernCall,
  post,
  startWorld,
  value,
  type World,
} from './mcp-world.ts';

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the tool endpoint on ${engine}`, () => {
    let world: World;
    let url: string;
    let session: string;

    before(async () => {
      world = await startWorld(engine);
      url = world.service.url;
      session = await bareSession(url);
    });
    after(() => world.service.stop());

    const connection = () => ({
      id: world.vaultId,
      vaultId: world.vaultId,
      accessKey: world.accessKey,
      baseUrl: url,
    });

    it('answers the specification’s secrets.list, with both connections in the arguments', async () => {
      const { id, ...credentials } = connection();
      const answer = await bareCall(
        url,
        'secrets.list',
        { namesOnly: true, vault: { id, ...credentials }, credentials },
        { session },
      );
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.body.jsonrpc, '2.0');
      assert.equal(answer.body.id, null);
      const { structuredContent, content } = answer.body.result;
      assert.deepEqual(structuredContent.vault, { id: world.vaultId, name: 'production' });
      assert.deepEqual(
        structuredContent.secrets.map((secret: object) => Object.keys(secret)),
        [
          ['id', 'name'],
          ['id', 'name'],
        ],
      );
      assert.deepEqual(JSON.parse(content[0].text), structuredContent);
    });

    it('answers the specification’s secrets.get, with the value because it was asked for', async () => {
      const args = { name: 'DATABASE_URL', includeValue: true, vault: connection() };
      const { result } = (await bareCall(url, 'secrets.get', args, { session })).body;
      assert.deepEqual(result.structuredContent, {
        id: world.secretId,
        name: 'DATABASE_URL',
        value,
        content_type: 'text/plain',
        tags: { team: 'payments' },
      });
    });

    it('answers the specification’s keys.get in public mode, with a code and no connection', async () => {
      const token = await world.service.call('POST', '/v1/public-tokens', { key_id: world.keyId });
      const args = { id: world.keyId, preferPublic: true, code: token.body.token };
      const { result } = (await bareCall(url, 'keys.get', args, { session })).body;
      assert.equal(result.structuredContent.id, world.keyId);
      assert.equal(result.structuredContent.type, 'public');
      assert.ok(createPublicKey(result.structuredContent.pem));
      assert.doesNotMatch(JSON.stringify(result), /PRIVATE/);
      const asked = await bareCall(url, 'keys.get', { id: world.keyId, code: token.body.token }, { session });
      assert.doesNotMatch(asked.text, /PRIVATE/, 'a code gives the public half whatever else is asked');
    });

    it('takes the access key from the header, in all three forms', async () => {
      const { id: requestId } = { id: 'request-7' };
      const bare = await bareCall(url, 'secrets_list', {}, { session, key: world.accessKey });
      const rpc = { jsonrpc: '2.0', id: requestId, method: 'tools/call', params: { name: 'secrets.list' } };
      const sessions = await post(url, rpc, { session, key: world.accessKey });
      const modern = await modernCall(url, 'secrets.list', {}, { key: world.accessKey });
      assert.equal(sessions.body.id, requestId);
      assert.equal(modern.body.result.resultType, 'complete');
      assert.deepEqual(sessions.body.result, bare.body.result);
      assert.deepEqual(modern.body.result.structuredContent, bare.body.result.structuredContent);
    });

    it('gives values only where they are asked for by word', async () => {
      const call = (name: string, args: object) =>
        bareCall(url, name, args, { session, key: world.accessKey });
      for (const [name, args] of [
        ['secrets.list', {}],
        ['secrets.get', { name: 'DATABASE_URL' }],
        ['secrets.get', { name: 'DATABASE_URL', includeValue: false }],
        ['secrets.search', { name: 'data' }],
        ['secrets.search', { tag: 'team=payments' }],
        ['keys.list', {}],
        ['vault.describe', {}],
      ] as const) {
        const answer = await call(name, args);
        assert.equal(answer.body.result.isError, undefined, answer.text);
        assert.doesNotMatch(answer.text, /hunter2|token-value|PRIVATE/, name);
      }
      assert.match((await call('secrets.list', { namesOnly: false })).text, /hunter2/);
      assert.match((await call('secrets.get', { name: 'DATABASE_URL', includeValue: true })).text, /hunter2/);
    });

    it('writes down whether a value was given or none, and which half of a key', async () => {
      const token = (await world.service.call('POST', '/v1/public-tokens', { key_id: world.keyId })).body
        .token;
      const namesOnly = await makeAccessKey(world.service, world.vaultId, { names_only: true });
      const requested = async (name: string, args: object, key: string | null = world.accessKey) => {
        await modernCall(url, name, args, { key });
        const { body } = await world.service.call(
          'GET',
          `/v1/request-logs?vault_id=${world.vaultId}&limit=1`,
        );
        return body.data[0].requested;
      };
      const secret = { name: 'DATABASE_URL' };
      assert.equal(await requested('secrets.get', secret), 'secret=metadata DATABASE_URL');
      assert.equal(
        await requested('secrets.get', { ...secret, includeValue: true }),
        'secret=value DATABASE_URL',
      );
      assert.equal(await requested('secrets.list', {}), 'secrets=names');
      assert.equal(await requested('secrets.list', { namesOnly: false }), 'secrets');
      assert.equal(await requested('secrets.list', { namesOnly: false }, namesOnly.token), 'secrets=names');
      assert.equal(await requested('secrets.search', { tag: 'team' }), 'secrets=metadata');
      assert.equal(await requested('keys.get', { id: world.keyId }), 'key=private signing');
      assert.equal(
        await requested('keys.get', { id: world.keyId, preferPublic: true }),
        'key=public signing',
      );
      assert.equal(await requested('keys.get', { code: token }, null), 'key=public signing');
      assert.equal(await requested('certificates.get', { id: world.certificateId }), 'certificate tls');
    });

    it('gives a key with its PEM, and with preferPublic its public half', async () => {
      const call = { session, key: world.accessKey };
      const whole = (await bareCall(url, 'keys.get', { id: world.keyId }, call)).body.result
        .structuredContent;
      assert.equal(whole.type, 'private');
      assert.ok(createPrivateKey(whole.pem));
      const half = (await bareCall(url, 'keys.get', { id: world.keyId, preferPublic: true }, call)).body
        .result;
      assert.equal(half.structuredContent.type, 'public');
      assert.match(half.structuredContent.pem, /^-----BEGIN PUBLIC KEY-----/);
      assert.doesNotMatch(JSON.stringify(half), /PRIVATE/);
      assert.equal(
        createPublicKey(half.structuredContent.pem).export({ type: 'spki', format: 'pem' }),
        createPublicKey(whole.pem).export({ type: 'spki', format: 'pem' }),
      );
    });

    it('lists keys and certificates, gets a certificate, searches, and says what the key may do', async () => {
      const call = async (name: string, args: object) =>
        (await bareCall(url, name, args, { session, key: world.accessKey })).body.result.structuredContent;
      assert.equal((await call('keys.list', {})).keys[0].id, world.keyId);
      assert.equal((await call('certificates.list', {})).certificates[0].id, world.certificateId);
      assert.match((await call('certificates.get', { id: world.certificateId })).pem, /BEGIN CERTIFICATE/);
      assert.deepEqual(
        (await call('secrets.search', { name: 'database' })).secrets.map(
          (found: { name: string }) => found.name,
        ),
        ['DATABASE_URL'],
      );
      assert.equal((await call('secrets.search', { tag: 'team' })).secrets.length, 1);
      assert.equal((await call('secrets.search', { tag: 'team=other' })).secrets.length, 0);
      assert.equal((await call('secrets.search', { name: 'api', tag: 'team' })).secrets.length, 0);
      const { access_key } = await call('vault.describe', {});
      assert.equal(access_key.id, world.accessKeyId);
      assert.deepEqual(access_key.kinds, ['secret', 'key', 'certificate']);
    });

    it('refuses like the vault does, as a result with the status', async () => {
      const refusal = async (name: string, args: object, key: string | null = world.accessKey) => {
        const answer = await modernCall(url, name, args, { key });
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.body.result.isError, true, answer.text);
        assert.deepEqual(
          JSON.parse(answer.body.result.content[0].text),
          answer.body.result.structuredContent,
        );
        return answer.body.result.structuredContent;
      };
      const later = new Date(world.service.clock.now() + 3_600_000).toISOString();
      const future = await makeKey(world.service, world.vaultId, 'future', { activation_date: later });
      const brief = await makeKey(world.service, world.vaultId, 'brief', { expiration_date: later });
      assert.deepEqual(await refusal('keys.get', { id: future }), {
        status: 403,
        message: 'Resource not active',
      });
      world.service.clock.pass(7_200_000);
      assert.deepEqual(await refusal('keys.get', { id: brief }), {
        status: 410,
        message: 'Resource expired',
      });
      const missing = { status: 404, message: 'Resource not found' };
      assert.deepEqual(await refusal('secrets.get', { name: 'NOT_THERE' }), missing);
      assert.deepEqual(await refusal('keys.get', { id: world.secretId }), missing);
      assert.deepEqual(await refusal('certificates.get', { id: 'no-id' }), missing);
      const unauthorized = { status: 401, message: 'Unauthorized' };
      assert.deepEqual(await refusal('secrets.list', {}, null), unauthorized);
      const wrong = (accessKey: string) => ({ vault: { vaultId: world.vaultId, accessKey } });
      assert.deepEqual(await refusal('secrets.list', wrong('sr_vault_wrong'), null), unauthorized);
      assert.deepEqual(await refusal('secrets.list', wrong(forged(world.accessKey)), null), unauthorized);
      assert.deepEqual(await refusal('secrets.list', wrong(world.service.key), null), unauthorized);
      const elsewhere = { vault: { vaultId: world.keyId } };
      assert.deepEqual(await refusal('secrets.list', elsewhere), unauthorized);
    });

    it('shows a narrowed key no more than the vault endpoint does', async () => {
      const key = await makeAccessKey(world.service, world.vaultId, {
        kinds: ['secret'],
        names: ['API_*'],
        names_only: true,
      });
      // What a key that sees everything was answered is kept ready, and must not be handed to this one.
      const call = async (name: string, args: object) => {
        const whole = await modernCall(url, name, args, { key: world.accessKey });
        assert.equal(whole.body.result.isError, undefined, whole.text);
        return (await modernCall(url, name, args, { key: key.token })).body.result.structuredContent;
      };
      assert.deepEqual(
        (await call('secrets.list', { namesOnly: false })).secrets.map(
          (one: object) => Object.entries(one)[1],
        ),
        [['name', 'API_TOKEN']],
      );
      assert.equal((await call('secrets.get', { name: 'DATABASE_URL' })).status, 404);
      assert.equal((await call('secrets.get', { name: 'API_TOKEN', includeValue: true })).status, 403);
      assert.deepEqual(Object.keys(await call('secrets.get', { name: 'API_TOKEN' })), ['id', 'name']);
      assert.equal((await call('secrets.search', { tag: 'team' })).status, 403);
      assert.deepEqual((await call('keys.list', {})).keys, []);
      assert.equal((await call('keys.get', { id: world.keyId })).status, 404);
      const described = (await call('vault.describe', {})).access_key;
      assert.deepEqual(
        [described.kinds, described.names, described.names_only],
        [['secret'], ['API_*'], true],
      );
    });

    it('follows a change at once', async () => {
      const get = async () =>
        (
          await modernCall(
            url,
            'secrets.get',
            { name: 'CHANGING', includeValue: true },
            { key: world.accessKey },
          )
        ).body.result.structuredContent;
      const secret = { vault_id: world.vaultId, name: 'CHANGING', value: 'one' };
      const { id } = (await world.service.call('POST', '/v1/secrets', secret)).body;
      assert.equal((await get()).value, 'one');
      await world.service.call('PUT', `/v1/secrets/${id}`, { value: 'two' });
      assert.equal((await get()).value, 'two');
      await world.service.call('DELETE', `/v1/secrets/${id}`);
      assert.equal((await get()).status, 404);
    });

    it('counts calls against the key’s own limits', async () => {
      world.service.clock.stand();
      const limited = await makeAccessKey(world.service, world.vaultId, { rate_limit: 2 });
      const once = await makeAccessKey(world.service, world.vaultId, { max_uses: 1 });
      const status = async (key: string) =>
        (await modernCall(url, 'secrets.list', {}, { key })).body.result.structuredContent.status;
      assert.deepEqual(
        [await status(limited.token), await status(limited.token), await status(limited.token)],
        [undefined, undefined, 429],
      );
      assert.deepEqual([await status(once.token), await status(once.token)], [undefined, 401]);
      world.service.clock.run();
    });

    it('writes each call down with the tool’s name, refused ones too, and nothing of the arguments', async () => {
      const marker = 'sr_vault_marker-that-was-sent';
      await modernCall(url, 'secrets_get', { name: 'DATABASE_URL' }, { key: world.accessKey });
      await modernCall(url, 'secrets.get', { name: marker }, { key: world.accessKey });
      await modernCall(url, 'secrets.get', { name: 1, [marker]: marker }, { key: world.accessKey });
      const bad = { vault: { vaultId: world.vaultId, accessKey: marker } };
      await modernCall(url, 'keys.list', bad);
      const logs = await world.service.call('GET', '/v1/request-logs?limit=4');
      assert.deepEqual(
        logs.body.data.map(({ tool, status, requested, route, method }: Record<string, unknown>) => [
          tool,
          status,
          requested,
          route,
          method,
        ]),
        [
          ['keys.list', 401, '', '/mcp', 'POST'],
          ['secrets.get', 400, '', '/mcp', 'POST'],
          ['secrets.get', 404, 'secret', '/mcp', 'POST'],
          ['secrets.get', 200, 'secret=metadata DATABASE_URL', '/mcp', 'POST'],
        ],
      );
      assert.doesNotMatch(logs.text, /marker/);
      assert.doesNotMatch(world.service.reports.join('\n'), /marker/);
    });
  });
}
