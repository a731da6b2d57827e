/** Every request below /api/v1/vaults/ is in the log, whatever it is, and before it is answered. */

import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { type Answer, enginesInTurn, type Made, type Service, startService } from './harness.ts';
import { bareCall, bareSession, modernCall } from './mcp-world.ts';
import { sendRaw } from './raw.ts';
import { inDatabase } from './storage.ts';

// biome-ignore lint/suspicious/noExplicitAny: entries of the log
type Entry = any;

/** CONNECT names no path, and QUERY and others are as good as any. */
const otherMethods = METHODS.filter(method => !['GET', 'HEAD', 'CONNECT'].includes(method));

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`requests to the vault endpoint on ${engine}`, () => {
    let service: Service;
    let other: Made;
    let vaultId: string;
    let key: string;
    let keyId: string;

    before(async () => {
      service = await startService({ engine });
      other = await service.organization('Other');
      vaultId = await make('vaults', { name: 'v' }).then(({ id }) => id);
      await make('secrets', { vault_id: vaultId, name: 'S', value: 'hidden-value' });
      ({ token: key, id: keyId } = await make('access-keys', { vault_id: vaultId, name: 'k' }));
    });
    after(() => service.stop());

    async function make(path: string, body: object, as = service.key): Promise<Answer['body']> {
      const answer = await service.call('POST', `/v1/${path}`, body, as);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    }

    /** What was added to the log of an organization meanwhile, oldest first. */
    async function added(run: () => Promise<unknown>, as = service.key): Promise<Entry[]> {
      const total = async () =>
        (await service.call('GET', '/v1/request-logs', undefined, as)).body.pagination.total as number;
      const before = await total();
      await run();
      const count = (await total()) - before;
      const all = (await service.call('GET', '/v1/request-logs?limit=100', undefined, as)).body.data;
      const each = all.flatMap((entry: Entry) => Array(entry.count ?? 1).fill(entry));
      return each.slice(0, count).reverse();
    }

    const send = (head: string, method = 'GET') =>
      sendRaw(service.url, `${head}\r\nHost: ${new URL(service.url).host}\r\n\r\n`, method);
    const shown = (entries: Entry[]) =>
      entries.map(({ method, status, vault_id, success }) => [method, status, vault_id, success]);

    it('a HEAD is a read: logged, with the status and headers of a GET and no body', async () => {
      const path = `/api/v1/vaults/${vaultId}`;
      const entries = await added(async () => {
        const get = await service.call('GET', path, undefined, key);
        const head = await service.call('HEAD', path, undefined, key);
        assert.deepEqual([head.status, head.text], [200, '']);
        for (const name of ['etag', 'content-type', 'content-length', 'cache-control'])
          assert.equal(head.headers.get(name), get.headers.get(name), name);
        assert.equal((await service.call('HEAD', path, undefined, 'sr_vault_bad')).status, 401);
      });
      assert.deepEqual(shown(entries), [
        ['GET', 200, vaultId, true],
        ['HEAD', 200, vaultId, true],
        ['HEAD', 401, vaultId, false],
      ]);
    });

    it('every other method is 404 and logged, with and without a body', async () => {
      const entries = await added(async () => {
        for (const method of otherMethods) {
          const answer = await send(`${method} /api/v1/vaults/${vaultId} HTTP/1.1`);
          assert.equal(answer.status, 404, method);
          assert.deepEqual(JSON.parse(answer.body), { message: 'Resource not found' });
        }
        const upload = await send(`POST /api/v1/vaults/${vaultId} HTTP/1.1\r\nContent-Length: 900000000`);
        assert.equal(upload.status, 404);
        assert.match(upload.head, /^Connection: close$/m);
      });
      assert.deepEqual(
        shown(entries),
        [...otherMethods, 'POST'].map(method => [method, 404, vaultId, false]),
      );
    });

    it('doubled headers, unknown methods and broken syntax are 400 and logged', async () => {
      const path = `/api/v1/vaults/${vaultId}`;
      const auth = `Authorization: Bearer ${key}`;
      const cases: [string, string][] = [
        ['GET', `GET ${path} HTTP/1.1\r\nHost: again`],
        ['GET', `GET ${path} HTTP/1.1\r\n${auth}\r\n${auth}`],
        ['HEAD', `HEAD ${path} HTTP/1.1\r\n${auth}\r\n${auth}`],
        ['GET', `GET ${path} HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked`],
        ['FETCH', `FETCH ${path} HTTP/1.1`],
        ['get', `get ${path} HTTP/1.1`],
        ['GET', `GET ${path} HTTP/9.9`],
        ['GET', `GET ${path} HTTP/1.1\r\nA\0B: c`],
        ['GET', `GET ${path} HTTP/1.1\r\nX: ${'x'.repeat(20_000)}`],
      ];
      const entries = await added(async () => {
        for (const [method, head] of cases) {
          const answer = await send(head, method);
          assert.equal(answer.status, 400, head);
          if (method !== 'HEAD') assert.deepEqual(Object.keys(JSON.parse(answer.body)), ['message'], head);
        }
      });
      assert.deepEqual(
        shown(entries),
        cases.map(([method]) => [method, 400, vaultId, false]),
      );
    });

    it('odd paths are refused and logged, in the log of the vault that they name', async () => {
      const paths: [path: string, status: number][] = [
        [`/api/v1/vaults/${vaultId}/secrets`, 404],
        [`/api/v1/vaults/${vaultId}/secrets/x?y=1`, 404],
        [`/api/v1/vaults/${vaultId}/../${vaultId}`, 400],
        [`/api/v1/vaults/${vaultId}//`, 400],
        [`/api/v1/vaults/${vaultId}/%2e%2e`, 400],
        [`/api/v1/vaults/${vaultId}/api/v1/vaults/${vaultId}`, 404],
        [`/api//v1/vaults/${vaultId}`, 400],
        [`/API/v1/vaults/${vaultId}`, 404],
        [`//api/v1/vaults/${vaultId}`, 400],
        [`http://host/api/v1/vaults/${vaultId}`, 400],
      ];
      const entries = await added(async () => {
        for (const [path, status] of paths) {
          const answer = await send(`GET ${path} HTTP/1.1\r\nAuthorization: Bearer ${key}`);
          assert.equal(answer.status, status, path);
          assert.doesNotMatch(answer.body, /hidden/);
        }
      });
      assert.deepEqual(
        shown(entries),
        paths.map(([, status]) => ['GET', status, vaultId, false]),
      );
      assert.ok(
        entries.every(({ access_key_id }) => access_key_id === keyId),
        'the key that was shown is named',
      );
    });

    it('a request for an unknown vault stands in the log of the organization whose key was used', async () => {
      const nowhere = '01999999-9999-7999-8999-999999999999';
      const theirVault = await make('vaults', { name: 'theirs' }, other.key);
      const theirs = await make('access-keys', { vault_id: theirVault.id, name: 'k' }, other.key);
      const ask = async (id: string, token: string) =>
        assert.equal((await service.call('GET', `/api/v1/vaults/${id}`, undefined, token)).status, 401, id);
      const mine = await added(async () => {
        const inTheirs = await added(async () => {
          for (const id of [nowhere, 'nonsense', '%zz']) await ask(id, theirs.token);
          await ask(nowhere, other.key);
          await ask('self', other.key);
          await ask(nowhere, 'sr_vault_nobody');
        }, other.key);
        assert.deepEqual(shown(inTheirs), Array(5).fill(['GET', 401, null, false]));
        assert.equal(inTheirs[0].access_key_id, theirs.id);
      });
      assert.deepEqual(mine, [], 'nobody else sees it');
      const inMine = await added(() => ask(vaultId, theirs.token));
      assert.deepEqual(shown(inMine), [['GET', 401, vaultId, false]], 'a vault’s own log comes first');
      assert.equal(inMine[0].access_key_id, null, 'another’s key is not named there');
    });

    it('a revoked key is named in the entries of its refusals', async () => {
      const { id, token } = await make('access-keys', { vault_id: vaultId, name: 'gone' });
      await service.call('DELETE', `/v1/access-keys/${id}`);
      const entries = await added(async () => {
        for (const at of [vaultId, 'self'])
          assert.equal((await service.call('GET', `/api/v1/vaults/${at}`, undefined, token)).status, 401);
      });
      assert.deepEqual(
        entries.map(({ status, vault_id, access_key_id }) => [status, vault_id, access_key_id]),
        Array(2).fill([401, vaultId, id]),
      );
    });

    it('what the limit of failures refuses is in the vault’s log too', async () => {
      service.clock.standInNewMinute();
      const entries = await added(async () => {
        for (let at = 0; at < 63; at++)
          await service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, 'sr_vault_bad');
      });
      service.clock.run(); // It goes on from there.
      assert.deepEqual(
        entries.map(({ status, vault_id }) => [status, vault_id]),
        [...Array(60).fill([401, vaultId]), ...Array(3).fill([429, vaultId])],
      );
    });

    it('public mode’s refusals stand in the log of the key’s vault', async () => {
      service.clock.pass(60_000); // Failures are limited by the minute.
      const generate = { key_type: 'EC', curve: 'P-256' };
      const made = await make('keys', { vault_id: vaultId, name: 'K', generate });
      const second = await make('keys', { vault_id: vaultId, name: 'K2', generate });
      const later = new Date(service.clock.now() + 86_400_000).toISOString();
      const future = await make('keys', { vault_id: vaultId, name: 'K3', generate, activation_date: later });
      const code = async (key_id: string) => make('public-tokens', { key_id });
      const good = await code(made.id);
      const revoked = await code(made.id);
      await service.call('DELETE', `/v1/public-tokens/${revoked.id}`);
      const early = await code(future.id);
      const cases: [args: object, status: number][] = [
        [{ id: made.id, code: 'sr_pub_nonsense' }, 401],
        [{ id: made.id, code: revoked.token }, 401],
        [{ code: revoked.token }, 401],
        [{ id: second.id, code: good.token }, 401],
        [{ id: future.id, code: early.token }, 403],
      ];
      const entries = await added(async () => {
        for (const [args, status] of cases) {
          const { body } = await modernCall(service.url, 'keys.get', args);
          assert.equal(body.result.structuredContent.status, status, JSON.stringify(args));
        }
      });
      assert.deepEqual(
        entries.map(({ status, vault_id, tool }) => [status, vault_id, tool]),
        cases.map(([, status]) => [status, vaultId, 'keys.get']),
      );
    });

    it('a tool call that is refused for its session is logged, with its tool', async () => {
      const another = await make('access-keys', { vault_id: vaultId, name: 'another' });
      const session = await bareSession(service.url, another.token);
      const cases: [session: string | undefined, status: number][] = [
        [undefined, 400],
        ['sr_mcp_unknown', 404],
        [session, 403],
      ];
      const connection = { vault: { vaultId, accessKey: 'sr_vault_bad' } };
      const entries = await added(async () => {
        for (const [named, status] of cases) {
          const answer = await bareCall(service.url, 'secrets.list', {}, { session: named, key });
          assert.equal(answer.status, status, answer.text);
        }
        const claimed = await bareCall(service.url, 'keys.list', connection, {});
        assert.equal(claimed.status, 400, claimed.text);
      });
      assert.deepEqual(
        entries.map(({ status, vault_id, tool, access_key_id }) => [status, vault_id, tool, access_key_id]),
        [
          ...cases.map(([, status]) => [status, vaultId, 'secrets.list', keyId]),
          [400, vaultId, 'keys.list', null],
        ],
      );
    });

    it('while the log can’t be written, all of them are 503, and none is told anything else', async () => {
      const path = `/api/v1/vaults/${vaultId}`;
      const heads = [
        `HEAD ${path} HTTP/1.1\r\nAuthorization: Bearer ${key}`,
        `GET ${path}?format=map HTTP/1.1\r\nAuthorization: Bearer ${key}`,
        `POST ${path} HTTP/1.1`,
        `GET ${path}/x HTTP/1.1`,
        `GET ${path} HTTP/1.1\r\nHost: again`,
        `FETCH ${path} HTTP/1.1`,
      ];
      await inDatabase(service, 'ALTER TABLE request_blocks RENAME TO request_blocks_away');
      for (const head of heads) {
        const answer = await send(head, head.split(' ')[0]);
        assert.equal(answer.status, 503, head);
        assert.match(answer.head, /^Retry-After: 1$/m);
        assert.doesNotMatch(answer.body, /hidden/);
      }
      await inDatabase(service, 'ALTER TABLE request_blocks_away RENAME TO request_blocks');
      assert.equal((await service.call('GET', path, undefined, key)).status, 200);
    });
  });
}
