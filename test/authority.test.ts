/**
 * Authority is judged when the deed is done. Every route that may change or reveal anything is walked, so that a new one
 * joins by itself: the headers are sent with good authority, it is withdrawn, and then the body comes.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import {
  type Call,
  Document,
  leasing,
  makeWorld,
  type Operation,
  proposing,
  realBody,
  realPath,
  type World,
} from './document.ts';
import { callService, type EngineName, enginesInTurn, type Service, startService } from './harness.ts';
import { sendLate } from './late.ts';
import { Browser, password } from './people.ts';

interface Entry {
  readonly id: string;
  readonly action: string;
  readonly outcome: string;
  readonly actor: { readonly id: string };
}

interface Person {
  readonly id: string;
  readonly browser: Browser;
}

/**
 * How the authority of somebody who is signed in ends, and what a request under way may be answered then: where the news
 * came before the body, one who may do less is told that they may not do this.
 */
const withdrawals = {
  'is removed': {
    statuses: [401],
    by: ({ call }: Doer, { id }: Person) => call('DELETE', `/v1/members/${id}`),
  },
  'is demoted': {
    statuses: [401, 403],
    by: ({ call }: Doer, { id }: Person) => call('PUT', `/v1/members/${id}`, { role: 'viewer' }),
  },
  'is reset': {
    statuses: [401],
    by: ({ call }: Doer, { id }: Person) => call('POST', `/v1/members/${id}/invitation`),
  },
  'signs out': { statuses: [401], by: (_: Doer, { browser }: Person) => browser.post('/auth/sign-out') },
};

interface Doer {
  readonly call: Call;
}

const page = readFileSync(new URL('../docs/permissions.md', import.meta.url), 'utf8');
/** Routes for whoever is signed in, to what is their own. The page has a line for every route that is registered. */
const ownRoutes = [
  ...page.matchAll(/^\| `(POST|DELETE) (\/auth\/[^`]+)` \| dashboard's session(?:, and [^|]+)? \|$/gm),
].map(([, method, path]) => ({ method: method!, path: path! }));

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`authority withdrawn between headers and body, on ${engine}`, () => {
    let service: Service;
    let document: Document;
    let world: World;
    /** Whoever withdraws it does so at another replica, where there can be one. */
    let elsewhere: Doer;
    let invited = 0;

    before(async () => {
      service = await startService({ engine });
      document = await Document.of(service);
      world = await makeWorld(service.call);
      world.proposal = await proposing(service, service.call, world);
      world.lease = leasing(service, service.call, world);
      elsewhere = await doerOn(engine, service);
      await join('owner'); // Somebody stays an owner, whatever happens to the others.
    });
    after(() => service.stop());

    async function join(role: string): Promise<Person> {
      const email = `person-${++invited}@example.org`;
      const { body } = await service.call('POST', '/v1/members', { email, role });
      const browser = new Browser(service.url);
      const joined = await browser.post('/auth/invitation/accept', { token: body.token, password });
      assert.equal(joined.status, 200, joined.text);
      return { id: body.id, browser };
    }

    const changing = () => document.operations().filter(({ method }) => method !== 'GET');
    const paths = new Map<Operation['value'], string>();

    /** Nothing is used up by what is refused, so one of each is made. */
    async function pathOf(operation: Operation): Promise<string> {
      const path = paths.get(operation.value) ?? (await realPath(service.call, document, operation, world));
      paths.set(operation.value, path);
      return path;
    }

    const nameOf = ({ method, path }: Operation) => `${method} ${path}`;
    const bodyOf = (operation: Operation) => realBody(document.requestExample(operation), world);

    async function entriesOf(actorId: string): Promise<Entry[]> {
      const { body } = await service.call('GET', '/v1/audit-logs?limit=100');
      return body.data.filter((entry: Entry) => entry.actor.id === actorId);
    }

    /** Nothing was done in the actor's name since then, and that something was tried is written down. */
    async function assertNothingDone(actorId: string, before: readonly Entry[], name: string): Promise<void> {
      const known = new Set(before.map(({ id }) => id));
      const since = (await entriesOf(actorId)).filter(({ id }) => !known.has(id));
      const ended = ({ action }: Entry) => action === 'session.ended';
      assert.deepEqual(
        since.filter(entry => entry.outcome === 'allowed' && !ended(entry)),
        [],
        name,
      );
      assert.ok(
        since.some(({ outcome }) => outcome === 'denied'),
        `${name}: the refusal is written down`,
      );
    }

    it('an API key that is revoked or expires meanwhile gets 401 on every route, and changes nothing', async () => {
      const ways: ((doer: Doer, id: string) => Promise<void>)[] = [
        async ({ call }, id) => assertDone(await call('DELETE', `/v1/api-keys/${id}`)),
        async ({ call }, id) => {
          // Far enough ahead that a slow machine still finds it in the future.
          const expiration_date = new Date(service.clock.now() + 30_000).toISOString();
          assertDone(await call('PUT', `/v1/api-keys/${id}`, { expiration_date }));
          service.clock.pass(30_000);
        },
      ];
      for (const [index, operation] of changing().entries()) {
        const name = nameOf(operation);
        service.clock.pass(2_000); // More than 60 failures a minute would be limited.
        const path = await pathOf(operation);
        const key = (await service.call('POST', '/v1/api-keys', { name: 'late', role: 'owner' })).body;
        const headers = { authorization: `Bearer ${key.token}` };
        const answer = await sendLate(service.url + path, operation.method, headers, bodyOf(operation), () =>
          ways[index % 2]!(elsewhere, key.id),
        );
        assert.equal(answer.status, 401, `${name}: ${answer.text}`);
        await assertNothingDone(key.id, [], name);
      }
    });

    it('whoever is removed, demoted, reset or signed out meanwhile is refused on every route, and changes nothing', async () => {
      const ways = Object.entries(withdrawals);
      for (const [index, operation] of changing().entries()) {
        // A viewer compares the names in vaults too, and sees no value.
        const open = ways.filter(
          ([way]) => way !== 'is demoted' || !/^\/v1\/(vaults|stages)\b.*\/compare$/.test(operation.path),
        );
        const [way, { statuses, by }] = open[index % open.length]!;
        const name = `${nameOf(operation)} by one who ${way}`;
        service.clock.pass(2_000); // More than 60 failures a minute would be limited.
        const path = await pathOf(operation);
        const person = await join('owner');
        const before = await entriesOf(person.id);
        const answer = await sendLate(
          service.url + path,
          operation.method,
          cookieOf(person),
          bodyOf(operation),
          async () => assertDone(await by(elsewhere, person)),
        );
        // In the same process the news is there at once.
        const expected = engine === 'sqlite' ? statuses.slice(-1) : statuses;
        assert.ok(expected.includes(answer.status), `${name}: ${answer.status} ${answer.text}`);
        await assertNothingDone(person.id, before, name);
      }
    });

    it('the same for what is one’s own: sessions, password, passkeys and codes', async () => {
      assert.ok(ownRoutes.length >= 8, 'the page lists them');
      const ways = [withdrawals['is removed'], withdrawals['is reset'], withdrawals['signs out']];
      for (const [index, { method, path }] of ownRoutes.entries()) {
        service.clock.pass(2_000); // More than 60 failures a minute would be limited.
        const person = await join('editor');
        assert.equal((await person.browser.prove({ password })).status, 200);
        const before = await entriesOf(person.id);
        const id = (await person.browser.get('/auth/sessions')).body.data[0].id;
        const url = service.url + path.replace('{id}', id);
        const meanwhile = async () => assertDone(await ways[index % ways.length]!.by(service, person));
        const answer = await sendLate(url, method, cookieOf(person), {}, meanwhile);
        // Who is signed out already has what they asked for.
        if (path === '/auth/sign-out') assert.equal(answer.status, 200, answer.text);
        else {
          assert.equal(answer.status, 401, `${method} ${path}: ${answer.text}`);
          await assertNothingDone(person.id, before, `${method} ${path}`);
        }
      }
    });

    it('a tool call is judged once its body is there', async () => {
      const { vaultId } = world;
      const key = (await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'late' })).body;
      const headers = { authorization: `Bearer ${key.token}` };
      const call = { method: 'tools/call', params: { name: 'keys.get', arguments: { id: world.keyId } } };
      const opened = await service.call('POST', '/mcp', { method: 'initialize' }, key.token);
      const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
      const good = await service.call('POST', '/mcp', call, key.token, session);
      assert.match(good.text, /PRIVATE KEY/);
      const revoke = () => service.call('DELETE', `/v1/access-keys/${key.id}`);
      const late = await sendLate(`${service.url}/mcp`, 'POST', { ...headers, ...session }, call, revoke);
      assert.match(late.text, /401|Unauthorized/);
      assert.doesNotMatch(late.text, /PRIVATE KEY/);
    });

    it('an API key that expires by the clock meanwhile gets 401', async () => {
      const moment = service.clock.now() + 3_600_000;
      const expiring = { name: 'late', role: 'owner', expiration_date: new Date(moment).toISOString() };
      const key = (await service.call('POST', '/v1/api-keys', expiring)).body;
      const headers = { authorization: `Bearer ${key.token}` };
      try {
        const answer = await sendLate(
          `${service.url}/v1/vaults`,
          'POST',
          headers,
          { name: 'late' },
          async () => {
            service.clock.standAt(moment);
          },
        );
        assert.equal(answer.status, 401, answer.text);
      } finally {
        service.clock.run();
      }
    });
  });
}

/** What was not withdrawn would still be good. */
function assertDone({ status, text }: { readonly status: number; readonly text: string }): void {
  assert.equal(status, 200, text);
}

function cookieOf({ browser }: Person): Record<string, string> {
  return {
    cookie: `__Host-strongroom=${browser.cookie}`,
    origin: browser.url,
    'sec-fetch-site': 'same-origin',
  };
}

/** The owner's key, at another replica where there can be one. */
async function doerOn(engine: EngineName, service: Service): Promise<Doer> {
  if (engine === 'sqlite') return service;
  const { url } = await service.replica();
  return { call: (method, path, body) => callService(url, method, path, body, service.key) };
}
