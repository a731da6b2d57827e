/**
 * A right id proves nothing. Credentials of every kind are forged (the right id, a valid checksum, another secret) and
 * brought to every door that takes the kind, as docs/permissions.md says: before the true one was ever seen, while it is
 * known, and on the very connection that proved it. Each is refused like no credential at all, and changes nothing.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { tools } from '../src/mcp/tools.ts';
import { Connection } from './connection.ts';
import { forged } from './forged.ts';
import { type Answer, enginesInTurn, type Service } from './harness.ts';
import {
  bareCall,
  bareSession,
  makeAccessKey,
  modernCall,
  post,
  startWorld,
  type World,
} from './mcp-world.ts';
import { Browser, cookieName, password, startEmpty } from './people.ts';

const page = readFileSync(new URL('../docs/permissions.md', import.meta.url), 'utf8');
/** The credential that each route takes which takes no API key. */
const otherDoors = new Map(
  [...page.matchAll(/^\| `(\S+ \S+)` \| ([^|]+) \|$/gm)].map(([, route, credential]) => [
    route!,
    credential!,
  ]),
);
const minute = 61_000;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`forged credentials on ${engine}`, () => {
    let world: World;
    let service: Service;
    let session: string;
    let invitation: string;
    let publicToken: string;

    before(async () => {
      world = await startWorld(engine);
      service = world.service;
      const invite = async (email: string) =>
        (await service.call('POST', '/v1/members', { email, role: 'owner' })).body.token as string;
      const browser = new Browser(service.url);
      await browser.post('/auth/invitation/accept', { token: await invite('ada@example.org'), password });
      session = browser.cookie!;
      invitation = await invite('bob@example.org');
      publicToken = (await service.call('POST', '/v1/public-tokens', { key_id: world.keyId })).body.token;
    });
    after(() => service.stop());

    /** Every registered route as a request, with an id of something that is there. */
    const routes = () =>
      [...service.routes].map(route => {
        const [method = '', path = ''] = route.split(' ');
        // A HEAD is the door of its GET.
        const door = route.replaceAll(/:(\w+)/g, '{$1}').replace(/^HEAD /, 'GET ');
        return { route: door, method, path: path.replaceAll(/:\w+/g, world.vaultId) };
      });
    const doorsOf = (credential: string) =>
      routes().filter(({ route }) => otherDoors.get(route)?.includes(credential));
    const general = () => routes().filter(({ route }) => !otherDoors.has(route));

    let attempts = 0;
    /** Failures are limited by the minute, and are not what is looked at here; nor is how long a session may idle. */
    const later = () => {
      attempts += 1;
      if (attempts % 4 === 0) service.clock.pass(minute);
    };
    const withCookie = (token: string, method: string, path: string, body?: unknown) => {
      later();
      const browser = new Browser(service.url);
      browser.cookies.set(cookieName, token);
      return browser.call(method, path, body);
    };
    const is401 = ({ status, body, text }: Answer, about: string) => {
      const { isError, structuredContent } = body?.result ?? {};
      const refused = status === 401 || (isError === true && structuredContent.status === 401);
      assert.ok(refused, `${about}: ${status} ${text}`);
      assert.doesNotMatch(text, /DATABASE_URL|hunter2|BEGIN/, about);
    };
    /** The newest change that somebody was allowed. */
    const newest = async (page = 1): Promise<string> => {
      const { body } = await service.call('GET', `/v1/audit-logs?limit=100&page=${page}`);
      const allowed = body.data.find((entry: { outcome: string }) => entry.outcome === 'allowed');
      return allowed?.id ?? newest(page + 1);
    };

    /** Walks the doors while nobody knows the true credential yet, and again when it was used. */
    async function walk(tryAll: () => Promise<void>, use: () => Promise<Answer>): Promise<void> {
      await service.restart();
      const before = await newest();
      await tryAll();
      assert.equal((await use()).status, 200, 'the true one is good');
      await tryAll();
      assert.equal((await use()).status, 200, 'the true one is good still');
      assert.equal(await newest(), before, 'nothing was changed');
    }

    it('every route is a door of a kind of credential that is forged here, or takes none', () => {
      // What an issuer sends is forged in single-sign-on.test.ts and identities.test.ts, its tokens in token-zoo.test.ts,
      // and the signatures of ACME accounts in acme.test.ts.
      const kinds =
        /^(none|none, or the dashboard's session|none; the dashboard's session, .*|what the issuer sends back|identity confirmed by the single sign-on issuer|email and password|passkey|setup link|invitation|dashboard's session(, and a proof .*|, and the code .*)?|device code|API key of a command line's .*|session id.*|vault access key|public token|API key or vault access key, in .*|token of an issuer, secret id .*|account key(, .*)?)$/;
      for (const [route, credential] of otherDoors) assert.match(credential, kinds, route);
      assert.ok(general().length > 60);
      assert.ok(doorsOf('dashboard').length > 10);
    });

    it('an API key: 401 on every route of the general API', async () => {
      const key = (await service.call('POST', '/v1/api-keys', { name: 'k', role: 'owner' })).body.token;
      await walk(
        async () => {
          for (const { method, path, route } of general()) {
            later();
            is401(await service.call(method, path, undefined, forged(key)), route);
          }
        },
        () => service.call('GET', '/v1/vaults', undefined, key),
      );
    });

    it('a dashboard session: 401 on every route that takes one, and nobody is signed in', async () => {
      const owned = () => doorsOf("dashboard's session").filter(({ path }) => !/state|sign-out/.test(path));
      await walk(
        async () => {
          for (const { method, path, route } of [...general(), ...owned()]) {
            is401(await withCookie(forged(session), method, path), route);
          }
          const state = await withCookie(forged(session), 'GET', '/auth/state');
          assert.equal(state.body.signed_in, null);
          await withCookie(forged(session), 'POST', '/auth/sign-out', {});
        },
        () => withCookie(session, 'GET', '/auth/sessions'),
      );
    });

    it('an invitation: 401 wherever one is shown', async () => {
      await walk(
        async () => {
          for (const { method, path, route } of doorsOf('invitation')) {
            later();
            const body = { token: forged(invitation), ...(path.endsWith('accept') ? { password } : {}) };
            is401(await new Browser(service.url).call(method, path, body), route);
          }
        },
        () => new Browser(service.url).post('/auth/invitation', { token: invitation }),
      );
    });

    it('a device code, and the key that comes of one: 401 wherever it is shown', async () => {
      const begin = async () => (await service.call('POST', '/auth/device', {}, null)).body;
      const poll = (device_code: string) => {
        later();
        return service.call('POST', '/auth/device/token', { device_code }, null);
      };
      const { device_code } = await begin();
      assert.equal(doorsOf('device code').length, 1);
      await walk(
        async () => is401(await poll(forged(device_code)), 'polled'),
        () => poll(device_code),
      );
      const { user_code, device_code: allowed } = await begin();
      await withCookie(session, 'POST', '/auth/proof', { password });
      await withCookie(session, 'POST', '/auth/device/approve', { user_code, role: 'viewer' });
      const { token } = (await poll(allowed)).body.api_key;
      const [door] = doorsOf("a command line's sign-in");
      await walk(
        async () =>
          is401(await service.call('POST', door!.path, { token: forged(token) }, null), door!.route),
        () => service.call('GET', '/v1/whoami', undefined, token),
      );
    });

    it('a secret id: 401 at the login, before the true one was used and after', async () => {
      const identity = { name: 'machine', method: 'secret_id', vault_ids: [world.vaultId] };
      const { id: identity_id } = (await service.call('POST', '/v1/identities', identity)).body;
      const { token } = (await service.call('POST', '/v1/secret-ids', { identity_id })).body;
      const [door] = doorsOf('secret id');
      const logIn = (secret_id: string) =>
        service.call(door!.method, door!.path, { identity_id, secret_id }, null);
      is401(await logIn(forged(token)), 'at first');
      assert.equal((await logIn(token)).status, 200);
      is401(await logIn(forged(token)), 'once the true one is known');
      assert.equal((await logIn(token)).status, 200);
    });

    it('an access key: 401 at the vault endpoint, whatever is asked for, and on the connection that knows the true one', async () => {
      const queries = ['', '?secrets=names', '?include=keys,certificates', `?resource=${world.keyId}`];
      const key = (await makeAccessKey(service, world.vaultId)).token;
      const read = (token: string, query = '') =>
        service.call('GET', `/api/v1/vaults/${world.vaultId}${query}`, undefined, token);
      await walk(
        async () => {
          for (const query of queries) is401(await read(forged(key), query), query);
        },
        () => read(key),
      );
      const connection = new Connection(service.url);
      assert.equal((await connection.read(world.vaultId, key)).status, 200);
      is401(await connection.read(world.vaultId, forged(key)), 'on its connection');
      assert.equal((await connection.read(world.vaultId, key)).status, 200);
      connection.close();
    });

    it('an API key or an access key: 403 on every call of Vault’s dialect, and on the connection that knows the true one', async () => {
      const key = (await service.call('POST', '/v1/api-keys', { name: 'd', role: 'owner' })).body.token;
      const accessKey = (await makeAccessKey(service, world.vaultId)).token;
      const [name, versions] = ['DATABASE_URL', { versions: [1] }];
      const written = { data: { value: 'forged' } };
      const calls: [method: string, path: string, body?: object][] = [
        ...['data', 'metadata', 'subkeys'].map(verb => ['GET', `${verb}/${name}`] as [string, string]),
        ['GET', 'metadata/?list=true'],
        ['GET', 'data/_all'],
        ['GET', 'config'],
        ['POST', `data/${name}`, written],
        ['PUT', `data/${name}`, written],
        ['PATCH', `data/${name}`, written],
        ['DELETE', `data/${name}`],
        ['POST', `metadata/${name}`, { custom_metadata: {} }],
        ['DELETE', `metadata/${name}`],
        ...['delete', 'undelete', 'destroy'].map(
          verb => ['POST', `${verb}/${name}`, versions] as [string, string, object],
        ),
      ];
      const others: typeof calls = [
        ['GET', 'auth/token/lookup-self'],
        ['GET', `sys/internal/ui/mounts/${world.vaultId}`],
        ['GET', 'anything/else'],
        ...['renew-self', 'revoke-self', 'create'].map(
          call => ['PUT', `auth/token/${call}`, {}] as [string, string, object],
        ),
      ];
      const inVault = calls.map(
        ([method, path, body]) => [method, `${world.vaultId}/${path}`, body] as const,
      );
      const ask = (token: string, method: string, path: string, body?: unknown) =>
        service.call(method, `/vault/v1/${path}`, body, null, { 'x-vault-token': token });
      const tryAll = async () => {
        for (const true_ of [key, accessKey]) {
          for (const [method, path, body] of [...inVault, ...others]) {
            later();
            const { status, text } = await ask(forged(true_), method, path, body);
            assert.deepEqual([status, text], [403, '{"errors":["permission denied"]}'], `${method} ${path}`);
          }
        }
      };
      await walk(tryAll, () => ask(key, 'GET', 'auth/token/lookup-self'));
      const connection = new Connection(service.url);
      const read = (token: string) =>
        connection.call('GET', `/vault/v1/secret/data/${name}`, { 'x-vault-token': token });
      for (const turn of [1, 2]) {
        assert.equal((await read(accessKey)).status, 200, `${turn}`);
        assert.equal((await read(forged(accessKey))).status, 403, 'on its connection');
      }
      connection.close();
    });

    it('an access key: refused by every tool, in every form, in the header and in the arguments', async () => {
      const good = (await makeAccessKey(service, world.vaultId)).token;
      const argsOf: Record<string, object> = {
        'secrets.get': { name: 'DATABASE_URL', includeValue: true },
        'secrets.search': { name: 'DATA' },
        'secrets.list': { namesOnly: false },
        'keys.get': { id: world.keyId },
        'certificates.get': { id: world.certificateId },
      };
      const tryAll = async () => {
        const toolSession = await bareSession(service.url);
        for (const { name } of tools) {
          const args = argsOf[name] ?? {};
          for (const member of ['vault', 'credentials']) {
            later();
            const connection = { [member]: { vaultId: world.vaultId, accessKey: forged(good) } };
            is401(await modernCall(service.url, name, { ...args, ...connection }), `${name} in ${member}`);
          }
          later();
          const key = forged(good);
          is401(await modernCall(service.url, name, args, { key }), name);
          is401(await bareCall(service.url, name, args, { key, session: toolSession }), `${name}, bare`);
          const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
          is401(await post(service.url, rpc, { key, session: toolSession }), `${name}, in a session`);
        }
      };
      await walk(tryAll, () => modernCall(service.url, 'secrets.list', {}, { key: good }));
    });

    it('a public token: refused in every form, and with any other argument', async () => {
      const get = (code: string, more = {}) =>
        modernCall(service.url, 'keys.get', { id: world.keyId, code, ...more });
      await walk(
        async () => {
          later();
          is401(await get(forged(publicToken)), 'alone');
          const plain = await service.call('GET', '/api/v1/public-key', undefined, forged(publicToken));
          is401(plain, 'by plain HTTP');
          is401(await get(forged(publicToken), { preferPublic: true }), 'with preferPublic');
          is401(await modernCall(service.url, 'keys.get', { code: forged(publicToken) }), 'without an id');
          const toolSession = await bareSession(service.url);
          const args = { id: world.keyId, code: forged(publicToken) };
          is401(await bareCall(service.url, 'keys.get', args, { session: toolSession }), 'bare');
        },
        () => get(publicToken),
      );
    });

    it('a tool session: 404 in every form that has sessions, nobody ends it, and its connection knows no other', async () => {
      const { accessKey: key } = world;
      const toolSession = await bareSession(service.url);
      const rpc = (method: string) => ({ jsonrpc: '2.0', id: 1, method });
      const call = (one: string) => bareCall(service.url, 'secrets.list', {}, { session: one, key });
      await walk(
        async () => {
          const one = forged(toolSession);
          later();
          const answers = [
            await call(one),
            await post(service.url, rpc('tools/list'), { session: one, key }),
            await post(service.url, rpc('ping'), { session: one, key }),
            await post(
              service.url,
              { jsonrpc: '2.0', method: 'notifications/initialized' },
              { session: one },
            ),
            await service.call('DELETE', '/mcp', undefined, key, { 'mcp-session-id': one }),
          ];
          for (const { status, text } of answers) assert.equal(status, 404, text);
        },
        () => call(toolSession),
      );
      const connection = new Connection(service.url);
      const ping = (one: string) => connection.call('POST', '/mcp', { 'mcp-session-id': one }, rpc('ping'));
      assert.equal((await ping(toolSession)).status, 200);
      assert.equal((await ping(forged(toolSession))).status, 404);
      connection.close();
    });
  });

  it(`a forged set-up token sets nothing up on ${engine}`, async () => {
    const service = await startEmpty(engine);
    const body = { email: 'eve@example.org', password, organization: 'Eve' };
    const token = forged(service.setupToken);
    const options = { token, email: body.email };
    assert.equal((await service.browser().post('/auth/setup/options', options)).status, 401);
    assert.equal((await service.browser().post('/auth/setup', { ...body, token })).status, 401);
    assert.equal((await service.browser().get('/auth/state')).body.setup_required, true);
    const right = { ...body, token: service.setupToken };
    assert.equal((await service.browser().post('/auth/setup', right)).status, 200);
    await service.stop();
  });

  describe(`a connection that proved an access key on ${engine}`, () => {
    let world: World;
    let service: Service;
    let known: Connection;

    before(async () => {
      world = await startWorld(engine, ['--behind-proxy', '127.0.0.0/8']);
      service = world.service;
      known = new Connection(service.url);
    });
    after(async () => {
      known.close();
      await service.stop();
    });

    const status = async (token: string, vaultId = world.vaultId, headers = {}) =>
      (await known.read(vaultId, token, headers)).status;

    it('is refused another vault, however often it read its own', async () => {
      const { id: other } = (await service.call('POST', '/v1/vaults', { name: 'other' })).body;
      const { token } = await makeAccessKey(service, world.vaultId);
      assert.deepEqual([await status(token), await status(token)], [200, 200]);
      assert.equal(await status(token, other), 401);
      assert.equal(await status(token, '0199a3c4-7f00-7abc-8def-0123456789ab'), 401);
      const elsewhere = { vault: { vaultId: other } };
      const body = { method: 'tools/call', params: { name: 'secrets.list', arguments: elsewhere } };
      const headers = { authorization: `Bearer ${token}`, 'mcp-session-id': await bareSession(service.url) };
      const { result } = (await known.call('POST', '/mcp', headers, body)).body;
      assert.equal(result.structuredContent.status, 401);
      assert.equal(await status(token), 200);
    });

    it('is refused at the key’s expiry, to the millisecond', async () => {
      const expiry = service.clock.now() + 3_600_000;
      const expiration_date = new Date(expiry).toISOString();
      const { token } = await makeAccessKey(service, world.vaultId, { expiration_date });
      service.clock.standAt(expiry - 1);
      assert.deepEqual([await status(token), await status(token)], [200, 200]);
      service.clock.standAt(expiry);
      assert.equal(await status(token), 401);
      service.clock.run();
    });

    it('is refused once the identity changed that was given the key', async () => {
      const identity = { name: 'machine', method: 'secret_id', vault_ids: [world.vaultId] };
      const { id: identity_id } = (await service.call('POST', '/v1/identities', identity)).body;
      const { token: secret_id } = (await service.call('POST', '/v1/secret-ids', { identity_id })).body;
      const { body } = await service.call('POST', '/api/v1/login', { identity_id, secret_id }, null);
      assert.deepEqual([await status(body.token), await status(body.token)], [200, 200]);
      await service.call('PUT', `/v1/identities/${identity_id}`, { lifetime: 60 });
      assert.equal(await status(body.token), 401);
    });

    it('is refused once the key is revoked', async () => {
      const { id, token } = await makeAccessKey(service, world.vaultId);
      assert.deepEqual([await status(token), await status(token)], [200, 200]);
      await service.call('DELETE', `/v1/access-keys/${id}`);
      assert.equal(await status(token), 401);
    });

    it('is refused for an address that the key does not admit, where a proxy shares it', async () => {
      const { token } = await makeAccessKey(service, world.vaultId, { cidrs: ['10.1.0.0/16'] });
      const from = (address: string) => status(token, world.vaultId, { 'x-forwarded-for': address });
      assert.deepEqual([await from('10.1.2.3'), await from('10.1.2.3')], [200, 200]);
      assert.equal(await from('10.2.2.3'), 401);
      assert.equal(await from('10.1.2.3'), 200);
    });

    it('is counted, where the key has a number of uses or a rate', async () => {
      service.clock.standInNewMinute();
      for (const [narrowing, refusal] of [
        [{ max_uses: 2 }, 401],
        [{ rate_limit: 2 }, 429],
      ] as const) {
        const { token } = await makeAccessKey(service, world.vaultId, narrowing);
        assert.deepEqual(
          [await status(token), await status(token), await status(token)],
          [200, 200, refusal],
        );
      }
      service.clock.run();
    });

    it('is refused the session that is over, though it used it', async () => {
      const session = await bareSession(service.url);
      const ping = async () =>
        (
          await known.call(
            'POST',
            '/mcp',
            { 'mcp-session-id': session },
            { jsonrpc: '2.0', id: 1, method: 'ping' },
          )
        ).status;
      assert.deepEqual([await ping(), await ping()], [200, 200]);
      service.clock.pass(365 * 24 * 3_600_000); // Farther than any test went before: time does not go back.
      assert.equal(await ping(), 404);
    });
  });
}
