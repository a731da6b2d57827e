/**
 * What is kept in memory: an answer or a record is never kept past a change, also where the change came while it was
 * being loaded, and what is kept of an answer is sealed: the opened bytes are gone with the turn that needed them.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { garbageCollector } from '../src/base/spare-memory.ts';
import { operatorOf } from '../src/cli/service/operator.ts';
import { AnswerCache } from '../src/domain/reads/answer-cache.ts';
import type { ReadAnswer } from '../src/domain/reads/vault-request.ts';
import { openStrongroom, type Strongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { askingDomain } from './asking.ts';
import { type Answer, engines, type Service } from './harness.ts';
import { makeAccessKey, modernCall, startWorld, type World } from './mcp-world.ts';

const collectGarbage = garbageCollector()!;

for (const engine of engines) {
  describe(`an answer kept ready on ${engine}`, () => {
    let world: World;
    let service: Service;

    before(async () => {
      world = await startWorld(engine);
      service = world.service;
    });
    after(() => service.stop());

    /** Everything that can be read of a vault, by one key. */
    async function everything(token: string, ids: readonly string[]): Promise<string[]> {
      const { vaultId } = world;
      const paths = ['', '?secrets=names', '?include=keys,certificates', ...ids.map(id => `?resource=${id}`)];
      const calls: [string, object][] = [
        ['secrets.list', { namesOnly: false }],
        ['secrets.get', { name: 'DATABASE_URL', includeValue: true }],
        ['secrets.get', { name: 'RENAMED', includeValue: true }],
        ['keys.list', {}],
        ['keys.get', { id: world.keyId }],
        ['keys.get', { id: world.keyId, preferPublic: true }],
        ['certificates.list', {}],
        ['certificates.get', { id: world.certificateId }],
      ];
      const shown = ({ status, text }: Answer) => `${status} ${text}`;
      const answers: string[] = [];
      for (const path of paths) {
        answers.push(shown(await service.call('GET', `/api/v1/vaults/${vaultId}${path}`, undefined, token)));
      }
      for (const [name, args] of calls)
        answers.push(shown(await modernCall(service.url, name, args, { key: token })));
      return answers;
    }

    it('is as true after each kind of change as one that is made anew', async () => {
      const { secretId, keyId, certificateId, vaultId } = world;
      const ids = [secretId, keyId, certificateId];
      const changes: [method: string, path: string, body?: object][] = [
        ['PUT', `/v1/secrets/${secretId}`, { value: 'another' }],
        ['POST', `/v1/secrets/${secretId}/rollback`, { version: 1 }],
        ['PUT', `/v1/secrets/${secretId}`, { tags: { a: 'b' } }],
        ['PUT', `/v1/secrets/${secretId}`, { name: 'RENAMED' }],
        ['PUT', `/v1/secrets/${secretId}`, { content_type: 'text/x-other' }],
        ['PUT', `/v1/secrets/${secretId}`, { enabled: false }],
        ['PUT', `/v1/secrets/${secretId}`, { enabled: true }],
        ['POST', '/v1/secrets/bulk', { items: [{ id: secretId, value: 'third' }] }],
        ['DELETE', `/v1/secrets/${secretId}`],
        ['POST', `/v1/resources/${secretId}/restore`],
        ['POST', `/v1/keys/${keyId}/rotate`, {}],
        ['PUT', `/v1/keys/${keyId}`, { name: 'renamed' }],
        ['PUT', `/v1/keys/${keyId}`, { expiration_date: '2090-01-01T00:00:00Z' }],
        ['PUT', `/v1/certificates/${certificateId}`, { tags: { a: 'b' } }],
        ['PUT', `/v1/certificates/${certificateId}`, { self_signed: { subject: 'CN=renewed', days: 20 } }],
        ['DELETE', `/v1/certificates/${certificateId}?purge=true`],
        ['PUT', `/v1/vaults/${vaultId}`, { name: 'renamed' }],
      ];
      for (const [at, [method, path, body]] of changes.entries()) {
        const before = await everything(world.accessKey, ids);
        const changed = await service.call(method, path, body);
        assert.equal(changed.status, 200, `${method} ${path}: ${changed.text}`);
        const now = await everything(world.accessKey, ids);
        // It sees the same by other words, so that nothing is kept ready for it.
        const fresh = await makeAccessKey(service, vaultId, { names: ['*', `fresh ${at}`] });
        assert.deepEqual(now, await everything(fresh.token, ids), `${method} ${path}`);
        assert.notDeepEqual(now, before, `${method} ${path} is seen`);
      }
    });
  });

  describe(`in memory on ${engine}`, () => {
    let world: World;
    let strongroom: Strongroom;
    const sender = { address: '127.0.0.1', userAgent: '' };

    before(async () => {
      world = await startWorld(engine);
      strongroom = await openStrongroom(readConfig(serveOptions, world.service.place, {}), false);
    });
    after(async () => {
      await strongroom.close();
      await world.service.stop();
    });

    const read = async (token = world.accessKey) =>
      (await strongroom.domain.vaultReads.read({
        by: 'access-key',
        token,
        vaultId: world.vaultId,
        keyId: null,
        connection: {},
        sender,
        requestId: null,
        route: '/',
        method: 'GET',
        tool: null,
        selection: { of: 'vault', namesOnly: false, keys: false, certificates: false },
        knownDigests: [],
      })) as ReadAnswer;
    const operator = () => operatorOf(world.service.organizationId, strongroom.newId);

    /** Holds the answer of the next look-up back until the work is done that overtakes it. */
    async function overtaken<T>(
      group: Record<string, unknown>,
      method: string,
      ask: () => Promise<T>,
      work: () => Promise<unknown>,
    ): Promise<T> {
      const original = group[method] as (...args: unknown[]) => Promise<unknown>;
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
      group[method] = async (...args: unknown[]) => {
        group[method] = original;
        const found = await original(...args);
        reach();
        await released;
        return found;
      };
      const asked = ask();
      await reached;
      await work();
      release();
      return asked;
    }

    it('an answer that a change overtook while it was made is not kept', async () => {
      const old = await overtaken(strongroom.store.resources, 'stretchWithValues', read, () =>
        askingDomain(strongroom.domain).secrets.update(operator(), world.secretId, {
          value: 'the newer value',
        }),
      );
      assert.equal(old.status, 200);
      assert.match((await read()).body.toString(), /the newer value/);
    });

    it('answers that changes overtook take no room from those that are kept', async () => {
      const heard: ((touched: readonly string[]) => void)[] = [];
      const changes = {
        hearsChanges: () => true,
        onChange: (hear: (typeof heard)[0]) => void heard.push(hear),
      };
      const ready = new AnswerCache(changes, 20_000);
      const answer = {
        format: 'json',
        digest: '',
        requested: '',
        validUntil: Number.POSITIVE_INFINITY,
      } as const;
      const load = (work: () => void) =>
        ready.load('vault', 'key', async () => {
          work();
          return { ...answer, body: Buffer.alloc(1_000) };
        });
      for (let times = 0; times < 50; times++) await load(() => heard[0]!(['vault']));
      assert.equal(ready.peek('vault', 'key', 0), undefined);
      await load(() => {});
      assert.ok(ready.peek('vault', 'key', 0));
    });

    it('a credential that was revoked while it was looked up is refused from then on', async () => {
      const { id, token } = await makeAccessKey(world.service, world.vaultId);
      const ask = () => strongroom.domain.authenticate.accessKeyAnywhere(token, sender);
      await overtaken(strongroom.store.credentials, 'byId', ask, () =>
        askingDomain(strongroom.domain).accessKeys.remove(operator(), id, false),
      );
      await assert.rejects(ask(), { code: 'UNAUTHORIZED' });
    });

    it('an opened answer is gone when its turn of the event loop is over; only the sealed one stays', async () => {
      const opened = async () => new WeakRef((await read()).body);
      const [made, first, second] = [await opened(), await opened(), await opened()];
      for (let turns = 0; turns < 3; turns++) await turn();
      collectGarbage();
      assert.deepEqual(
        [made, first, second].map(body => body.deref()?.toString()),
        [undefined, undefined, undefined],
      );
    });
  });
}
