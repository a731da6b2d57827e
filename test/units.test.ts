/**
 * The last word is the store's: a unit that comes after the withdrawal is refused, whatever the process that sends it
 * still believes. So that nothing heard in time can hide that, each deed is done here with a caller who was good
 * when asking, by a process that is told nothing in between.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import Fastify from 'fastify';
import type { Caller, Origin } from '../src/access/caller.ts';
import { check } from '../src/contract/check.ts';
import { Failure } from '../src/contract/errors.ts';
import type { SignedInAs } from '../src/domain/sessions/dashboard-sessions.ts';
import { permitsFor } from '../src/http/routes/api-callers.ts';
import { exportAuditLog } from '../src/http/routes/log-export.ts';
import type { Permissions, Route } from '../src/http/routes/route.ts';
import { generalRoutes } from '../src/http/routes/tables.ts';
import { openStrongroom, type Strongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { type AskingDomain, askingDomain } from './asking.ts';
import { Authenticator } from './authenticator.ts';
import {
  Document,
  leasing,
  makeWorld,
  proposing,
  realBody,
  realPath,
  unique,
  type World,
} from './document.ts';
import { callService, enginesInTurn, loopbackWebhooks, type Service, startService } from './harness.ts';
import { Browser, cookieName, password } from './people.ts';

const origin: Origin = { address: '127.0.0.1', userAgent: 'test', requestId: 'late' };
const site = { origin: 'http://localhost', host: 'localhost' };

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`units of whoever lost their authority, on ${engine}`, () => {
    let service: Service;
    let document: Document;
    let world: World;
    /** Another process over the same data, with the service's clock. */
    let other: Strongroom;
    let asked: AskingDomain;
    /** What every route that may change or reveal something does for a caller. Nothing of it is used up by a refusal. */
    let deeds: { readonly name: string; readonly by: (caller: Caller) => Promise<unknown> }[];

    before(async () => {
      service = await startService({ engine });
      document = await Document.of(service);
      world = await makeWorld(service.call);
      other = await openStrongroom(
        readConfig(serveOptions, [...service.place, ...loopbackWebhooks], {}),
        false,
        service.clock.now,
      );
      asked = askingDomain(other.domain);
      await person('owner');
      deeds = await everyDeed();
    });
    after(async () => {
      await other.close();
      await service.stop();
    });

    async function everyDeed(): Promise<typeof deeds> {
      world.proposal = await proposing(service, service.call, world);
      world.lease = leasing(service, service.call, world);
      // A dry run changes and reveals nothing, and is a POST for its body alone.
      const reads = (route: Route<Permissions>) =>
        route.method === 'GET' || route.path === '/v1/use-rules/check';
      const routes = generalRoutes(other.domain).filter(route => !reads(route));
      return Promise.all(routes.map(deedOf));
    }

    async function ok(method: string, path: string, body?: unknown) {
      const answer = await service.call(method, path, body);
      assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
      return answer.body;
    }

    async function person(role: string): Promise<{ id: string; browser: Browser; as: SignedInAs }> {
      const { id, token } = await ok('POST', '/v1/members', { email: `${unique('p')}@example.org`, role });
      const browser = new Browser(service.url);
      const joined = await browser.post('/auth/invitation/accept', { token, password });
      assert.equal(joined.status, 200, joined.text);
      assert.equal((await browser.prove({ password })).status, 200);
      const as = await other.domain.accounts.sessions.require(browser.cookies.get(cookieName)!, origin);
      return { id, browser, as };
    }

    async function apiKey(body: object = {}): Promise<{ id: string; caller: Caller }> {
      const { id, token } = await ok('POST', '/v1/api-keys', { name: unique('key'), role: 'owner', ...body });
      return { id, caller: await other.domain.authenticate.apiKey(token, origin) };
    }

    const isRefused = (error: unknown) => error instanceof Failure && error.code === 'UNAUTHORIZED';

    async function deedOf(route: Route<Permissions>) {
      const operation = document
        .operations()
        .find(({ method, path }) => method === route.method && path === route.path)!;
      const path = await realPath(service.call, document, operation, world);
      const id = route.path.includes('{id}') ? path.split('/')[3]! : '';
      const example = realBody(document.requestExample(operation), world);
      // What is copied to where it is already is refused for that.
      const elsewhere = async () => (await ok('POST', '/v1/vaults', { name: unique('elsewhere') })).id;
      const sent =
        example?.secret_ids && example.vault_id ? { ...example, vault_id: await elsewhere() } : example;
      const body = route.body === undefined ? undefined : check(route.body, sent ?? {});
      const query = route.query === undefined ? {} : check(route.query, {});
      const call = { id, body, query, url: path, reply: null };
      const name = `${route.method} ${route.path}`;
      const needs = route.needsOf?.({ query, body }) ?? route.needs;
      const by = async (caller: Caller) => {
        const permits = await permitsFor(other.domain.guard, caller, needs);
        return route.handle({ ...call, caller, permits } as never);
      };
      return { name, by };
    }

    async function assertAllRefused(caller: Caller): Promise<void> {
      assert.ok(deeds.length > 40);
      const known = new Set((await entriesOf(caller.id)).map(({ id }) => id));
      for (const { name, by } of deeds) await assert.rejects(by(caller), isRefused, name);
      const since = (await entriesOf(caller.id)).filter(({ id }) => !known.has(id));
      const done = since.filter(({ outcome }) => outcome === 'allowed');
      assert.deepEqual(done, [], 'nothing was done');
      assert.ok(since.length >= deeds.length, 'each refusal is written down');
    }

    async function entriesOf(actorId: string): Promise<{ id: string; outcome: string }[]> {
      const pages = [1, 2, 3, 4].map(page => ok('GET', `/v1/audit-logs?limit=100&page=${page}`));
      const data = (await Promise.all(pages)).flatMap(page => page.data);
      return data.filter(({ actor }: { actor: { id: string } }) => actor.id === actorId);
    }

    it('a revoked API key changes, mints and reveals nothing by any route', async () => {
      const { id, caller } = await apiKey();
      await ok('DELETE', `/v1/api-keys/${id}`);
      await assertAllRefused(caller);
    });

    it('nor does an API key from its expiry on', async () => {
      const moment = service.clock.now() + 600_000;
      const { caller } = await apiKey({ expiration_date: new Date(moment).toISOString() });
      await asked.vaults.create(caller, { name: unique('vault') });
      service.clock.standAt(moment);
      const late = asked.vaults.create(caller, { name: unique('vault') });
      await assert.rejects(late, isRefused);
      service.clock.run(); // Both processes go on from there.
    });

    const withdrawals: Record<string, (id: string, browser: Browser) => Promise<unknown>> = {
      'was removed': id => ok('DELETE', `/v1/members/${id}`),
      'was demoted': id => ok('PUT', `/v1/members/${id}`, { role: 'viewer' }),
      'was reset': id => ok('POST', `/v1/members/${id}/invitation`),
      'was signed out': (_, browser) => browser.post('/auth/sign-out'),
    };

    for (const [way, withdraw] of Object.entries(withdrawals)) {
      it(`one who ${way} changes, mints and reveals nothing by any route`, async () => {
        const { id, browser, as } = await person('owner');
        await withdraw(id, browser);
        await assertAllRefused(as.caller);
      });
    }

    for (const way of ['was removed', 'was demoted', 'was reset'] as const) {
      it(`an API key of one who ${way} changes, mints and reveals nothing by any route`, async () => {
        const { id, browser } = await person('owner');
        const made = await browser.post('/v1/api-keys', { name: unique('key'), role: 'owner' });
        const caller = await other.domain.authenticate.apiKey(made.body.token, origin);
        await withdrawals[way]!(id, browser);
        await assertAllRefused(caller);
      });
    }

    it('one who was taken out of a group, or whose group lost its role, does nothing more by it', async () => {
      const { id, as } = await person('none');
      const grants = (role: string) => [{ vault_id: world.vaultId, role }];
      const group = await ok('POST', '/v1/groups', { name: unique('group'), grants: grants('editor') });
      const losses = [{ member_ids: [] }, { grants: grants('viewer') }, { grants: [] }];
      for (const loss of losses) {
        await ok('PUT', `/v1/groups/${group.id}`, { member_ids: [id], grants: grants('editor') });
        const { caller } = await other.domain.accounts.sessions.again(as.session.id, origin);
        const write = () =>
          asked.secrets.create(caller, { vault_id: world.vaultId, name: unique('S'), value: 'x' });
        await write();
        await ok('PUT', `/v1/groups/${group.id}`, loss);
        await assert.rejects(write, isRefused, JSON.stringify(loss));
      }
    });

    it('nor anything about how they prove themselves: a reset account keeps no passkey, password or code', async () => {
      for (const way of ['was removed', 'was reset', 'was signed out'] as const) {
        const { id, browser, as } = await person('editor');
        const { factors, sessions } = other.domain.accounts;
        const options = (await factors.passkeyOptions(as, site)) as never;
        const credential = new Authenticator(site.origin).create(options);
        await withdrawals[way]!(id, browser);
        const deeds: Record<string, () => Promise<unknown>> = {
          addPasskey: () => factors.addPasskey(as, site, 'late', credential as never),
          changePassword: () => factors.changePassword(as, { current: password, password: `${password}!` }),
          beginCodes: () => factors.beginCodes(as),
          end: () => sessions.end(as, as.session.id),
        };
        for (const [name, deed] of Object.entries(deeds)) {
          await assert.rejects(
            deed,
            (error: unknown) => error instanceof Failure,
            `${name} by one who ${way}`,
          );
        }
        assert.deepEqual(await other.store.accounts.passkeysOf(id), [], way);
        const account = await other.store.accounts.accountOf(id);
        assert.equal(account?.totp_pending ?? null, null);
      }
    });

    it('a session that is started while its member is reset is refused', async () => {
      const { id, as } = await person('editor');
      await ok('POST', `/v1/members/${id}/invitation`);
      const start = () => other.domain.accounts.sessions.start(as.person, 'password', origin, {});
      await assert.rejects(start, isRefused);
      assert.deepEqual(await other.store.accounts.sessionsOf(id), []);
    });

    it('a change to the key or the person that takes nothing away stops nobody', async () => {
      const key = await apiKey();
      await ok('PUT', `/v1/api-keys/${key.id}`, { name: unique('renamed') });
      await asked.vaults.create(key.caller, { name: unique('vault') });
      const { browser, as } = await person('owner');
      assert.equal((await browser.post('/auth/totp/begin')).status, 200);
      await asked.vaults.create(as.caller, { name: unique('vault') });
    });

    it('an access key that was revoked is not counted a use of, nor served', async () => {
      const { vaultId } = world;
      const key = await ok('POST', '/v1/access-keys', {
        vault_id: vaultId,
        name: unique('key'),
        max_uses: 9,
      });
      const reader = await other.domain.authenticate.accessKey(key.token, vaultId, origin);
      await ok('DELETE', `/v1/access-keys/${key.id}`);
      const read = {
        by: 'access-key',
        token: key.token,
        vaultId,
        keyId: null,
        connection: {},
        sender: origin,
        requestId: null,
        route: '',
        method: 'GET',
        tool: null,
        selection: { of: 'vault', namesOnly: false, keys: false, certificates: false },
        knownDigests: [],
      } as const;
      assert.equal(reader.id, key.id);
      assert.equal((await other.domain.vaultReads.read(read)).status, 401);
      const row = await other.store.credentials.byId(key.id);
      assert.equal(row!.uses, 0);
    });

    it('an export under way is cut at its next stretch', async () => {
      const { id, caller } = await apiKey();
      await ok('POST', '/v1/vaults', { name: unique('vault') });
      for (const kind of ['exportAudits', 'exportRequests'] as const) {
        await callService(service.url, 'GET', `/api/v1/vaults/${world.vaultId}`);
        await ok('GET', '/v1/request-logs');
        const whole = await read(await asked.logs[kind](caller, {}));
        assert.ok(whole > 0);
      }
      const audits = (await asked.logs.exportAudits(caller, {}))[Symbol.asyncIterator]();
      assert.equal((await audits.next()).done, false);
      await ok('DELETE', `/v1/api-keys/${id}`);
      service.clock.pass(3_600_000); // It lasts.
      await assert.rejects(audits.next(), isRefused);
      const requests = await asked.logs.exportRequests(caller, {});
      await assert.rejects(read(requests), isRefused);
    });

    async function read(entries: AsyncIterable<unknown>): Promise<number> {
      let seen = 0;
      for await (const _ of entries) seen++;
      return seen;
    }

    it('a reveal says in its entry which version was shown', async () => {
      const secret = { vault_id: world.vaultId, name: unique('secret'), value: 'one' };
      const { id } = await ok('POST', '/v1/secrets', secret);
      await ok('PUT', `/v1/secrets/${id}`, { value: 'two' });
      await ok('POST', `/v1/secrets/${id}/reveal`, { version: 1 });
      await ok('POST', `/v1/secrets/${id}/reveal`);
      await ok('POST', `/v1/keys/${world.keyId}/reveal`);
      const versions = async (subject: string, action: string) => {
        const { data } = await ok('GET', `/v1/audit-logs?subject_id=${subject}&action=${action}`);
        return data.map((entry: { details: { version: number } }) => entry.details.version);
      };
      assert.deepEqual(await versions(id, 'secret.revealed'), [2, 1]);
      assert.deepEqual(await versions(world.keyId, 'key.revealed'), [1]);
    });

    it('of two owners who take each other’s role, remove or reset each other at once, one stays', async () => {
      const doers = [service.url, engine === 'postgres' ? (await service.replica()).url : service.url];
      const ways: [string, string, object?][] = [
        ['PUT', '', { role: 'viewer' }],
        ['DELETE', ''],
        ['POST', '/invitation'],
      ];
      for (const [method, path, body] of ways) {
        for (let round = 0; round < 3; round++) {
          const made = await service.organization(unique('Two owners'));
          const owners = await twoOwners(made.key);
          const answers = await Promise.all(
            owners.map((id, index) =>
              callService(doers[index]!, method, `/v1/members/${id}${path}`, body, made.key),
            ),
          );
          const statuses = answers.map(({ status }) => status).sort();
          assert.deepEqual(statuses, [200, 400], answers.map(({ text }) => text).join());
          assert.match(answers.find(({ status }) => status === 400)!.text, /last owner/);
        }
      }
    });

    it('one whose session ends while a request of theirs is under way changes nothing by any route', async () => {
      // The last test: what is written from here on is of a later week.
      const { as } = await person('owner');
      service.clock.pass(4 * 24 * 3_600_000);
      deeds = await everyDeed(); // A proposal would be over too.
      service.clock.pass(4 * 24 * 3_600_000);
      await assertAllRefused(as.caller);
    });

    async function twoOwners(key: string): Promise<string[]> {
      const ids: string[] = [];
      for (const email of [`${unique('a')}@example.org`, `${unique('b')}@example.org`]) {
        const { body } = await callService(service.url, 'POST', '/v1/members', { email, role: 'owner' }, key);
        const accept = { token: body.token, password };
        const joined = await new Browser(service.url).post('/auth/invitation/accept', accept);
        assert.equal(joined.status, 200, joined.text);
        ids.push(body.id);
      }
      return ids;
    }
  });
}

describe('an export whose authority is withdrawn', () => {
  it('breaks off, and never ends as if it were whole', async () => {
    const app = Fastify();
    async function* entries() {
      for (let more = 0; more < 2_000; more++) yield { details: {}, actor: {}, subject: null };
      throw new Failure('UNAUTHORIZED');
    }
    app.get('/', async (_request, reply) => exportAuditLog(reply, 'jsonl', entries() as never));
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    try {
      const answer = await fetch(url);
      assert.equal(answer.status, 200);
      await assert.rejects(answer.text());
    } finally {
      await app.close();
    }
  });
});
