/**
 * Who may do what, on every route: the tables of docs/permissions.md are read, and every registered route is
 * called with every kind of credential and with ids of every kind. A route without a line fails.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { mintToken } from '../src/access/token.ts';
import { scopeNames } from '../src/contract/access.ts';
import { grantedRoleNames, vaultPermissions } from '../src/contract/names.ts';
import { atOnce, onEngines } from './at-once.ts';
import {
  type Call,
  Document,
  type Json,
  makeWorld,
  type Operation,
  readVault,
  realBody,
  realPath,
  unique,
  type World,
} from './document.ts';
import { forged } from './forged.ts';
import { type Answer, callService, loopbackWebhooks, type Service, startService } from './harness.ts';
import { Browser, cookieName, password } from './people.ts';

/** A vault with something in it, whoever may use it, and what was made there for operations and is there still. */
interface Home {
  readonly call: Call;
  readonly world: World;
  /** A vault that no access key reads: nothing that is done there shows a value to anyone. */
  readonly unread: string;
  readonly made: Map<string, string>;
}

interface Line {
  readonly needs: readonly string[];
  /** One of the permissions is enough. */
  readonly any: boolean;
  readonly narrowed: string;
}

const page = readFileSync(new URL('../docs/permissions.md', import.meta.url), 'utf8');
const rows = page
  .split('\n')
  .filter(line => line.startsWith('| `'))
  .map(line => line.split('|').map(cell => cell.trim()))
  .map(([, first = '', ...cells]) => ({ name: first.replaceAll('`', ''), cells }));
const roleTable = new Map(rows.filter(row => !row.name.includes(' ')).map(row => [row.name, row.cells]));
const withoutKey = new Map(
  rows.filter(row => row.cells.length === 2).map(row => [row.name, row.cells[0] ?? '']),
);
const routeTable = new Map<string, Line>(
  rows
    .filter(row => row.name.includes(' ') && row.cells.length === 3)
    .map(({ name, cells: [permissions = '', narrowed = ''] }) => [
      name,
      {
        needs: [...permissions.matchAll(/`([^`]+)`/g)].map(match => match[1]!),
        any: permissions.includes(' or '),
        narrowed,
      },
    ]),
);

/** Single sign-on has its routes, though nobody answers at its issuer. */
const awayIssuer = ['--oidc-issuer', 'http://127.0.0.1:9', '--oidc-client-id', 'strongroom'];

const nowhere = '01999999-9999-7999-8999-999999999999';

onEngines('who may do what', engine => {
  let service: Service;
  /** Where callers are judged: on PostgreSQL another replica than the one where what they ask for was made. */
  let judge: string;
  let document: Document;
  let own: Home;
  let other: Home;

  before(async () => {
    service = await startService({ engine, flags: [...loopbackWebhooks, ...awayIssuer] });
    judge = engine === 'postgres' ? (await service.replica()).url : service.url;
    document = await Document.of(service);
    const { key } = await service.organization('Other');
    own = await home(service.call);
    other = await home((method, path, body) => service.call(method, path, body, key));
    await person(); // An owner who stays.
  });
  after(() => service.stop());

  async function home(call: Call): Promise<Home> {
    const world = await makeWorld(call);
    await readVault(service, call, world);
    const { body } = await call('POST', '/v1/vaults', { name: unique('unread') });
    return { call, world, unread: body.id, made: new Map() };
  }

  function calling(key: string | null, headers: Record<string, string> = {}): Call {
    return (method, path, body) => callService(judge, method, path, body, key, headers);
  }

  async function mint(body: object): Promise<{ id: string; call: Call }> {
    const { body: made, text } = await own.call('POST', '/v1/api-keys', { name: unique('key'), ...body });
    assert.ok(made.token, text);
    return { id: made.id, call: calling(made.token) };
  }

  /** The operation, done by a caller to something that was made for it in a home; what nobody used up is used again. */
  async function attempt(call: Call, operation: Operation, place: Home) {
    const name = nameOf(operation);
    const world = showsAnew.test(name) ? { ...place.world, vaultId: place.unread } : place.world;
    const path = place.made.get(name) ?? (await realPath(making(place.call), document, operation, world));
    place.made.delete(name);
    const answer = await call(operation.method, path, bodyFor(operation, place.world));
    if (answer.status !== 200 || !/^DELETE|(restore|confirm|reject|\/end)$/.test(name))
      place.made.set(name, path);
    return answer;
  }

  /**
   * Done where an access key reads, these take the permission to read the value too (test/shown.test.ts). Whoever
   * writes certificates reads them, and their key is in the vault of the world.
   */
  const showsAnew = /\/(restore|secrets\/\{id\}\/rollback)$/;
  const everyOperation = () => document.operations().filter(({ path }) => path !== '/v1/health');
  const nameOf = ({ method, path }: Operation) => `${method} ${path}`;
  const lineOf = (operation: Operation) => routeTable.get(nameOf(operation))!;

  it('the page has a line for every route that is registered, and for no other', () => {
    // A HEAD is answered as its GET is, by the same handler behind the same checks.
    const registered = [...service.routes].map(route =>
      route.replaceAll(/:(\w+)/g, '{$1}').replace(/^HEAD /, 'GET '),
    );
    const missing = registered.filter(route => !routeTable.has(route) && !withoutKey.has(route));
    assert.deepEqual(missing, []);
    // The vault endpoint and its neighbour are answered ahead of the router, where no route is registered for them.
    const ahead = /^[A-Z]+ \/api\/v1\/(vaults\/|public-key$)/;
    const routed = [...withoutKey.keys()].filter(route => !ahead.test(route));
    const gone = [...routeTable.keys(), ...routed].filter(route => !registered.includes(route));
    assert.deepEqual(gone, []);
    assert.deepEqual(everyOperation().map(nameOf).sort(), [...routeTable.keys()].sort());
  });

  it('the page has a line for every permission, and each route takes one of them', () => {
    assert.deepEqual([...roleTable.keys()], [...scopeNames]);
    for (const [name, { needs }] of routeTable) {
      assert.ok(needs.length > 0 && needs.every(need => roleTable.has(need)), name);
    }
    for (const operation of everyOperation()) {
      const { needs, any } = lineOf(operation);
      const permissions = needs.map(need => `\`${need}\``).join(any ? ' or ' : ' and ');
      assert.equal(operation.value.description, `Requires the permission ${permissions}.`, nameOf(operation));
    }
  });

  it('without a good API key every route answers the same 401, whatever the id', async () => {
    const reader = await own.call('POST', '/v1/access-keys', { vault_id: own.world.vaultId, name: 'reader' });
    const token = await own.call('POST', '/v1/public-tokens', { key_id: own.world.keyId });
    const expired = await own.call('POST', '/v1/api-keys', {
      name: 'expired',
      role: 'owner',
      expiration_date: new Date(service.clock.now() + 1_000).toISOString(),
    });
    service.clock.pass(1_000);
    const revoked = await own.call('POST', '/v1/api-keys', { name: 'revoked', role: 'owner' });
    await own.call('DELETE', `/v1/api-keys/${revoked.body.id}`);
    const bad: Record<string, Call> = {
      none: calling(null),
      malformed: calling('sr_api_short'),
      unknown: calling(mintToken('api', nowhere)),
      'another secret': calling(forged(service.key)),
      mistyped: calling(`${service.key.slice(0, -12)}${'0'.repeat(12)}`),
      basic: calling(null, { authorization: `Basic ${Buffer.from(`a:${service.key}`).toString('base64')}` }),
      'an access key': calling(reader.body.token),
      'a public token': calling(token.body.token),
      expired: calling(expired.body.token),
      revoked: calling(revoked.body.token),
    };
    const seen = new Set<string>();
    await atOnce(everyOperation(), async operation => {
      for (const [kind, call] of Object.entries(bad)) {
        for (const id of [own.world.vaultId, other.world.vaultId, nowhere]) {
          service.clock.pass(2_000); // More than 60 failures a minute would be limited.
          const answer = await call(operation.method, operation.path.replace('{id}', id));
          assert.equal(answer.status, 401, `${nameOf(operation)} with ${kind}`);
          seen.add(answer.text);
          if (!operation.path.includes('{id}')) break;
        }
      }
    });
    assert.equal(seen.size, 1);
  });

  for (const [column, role] of grantedRoleNames.entries()) {
    it(`the role ${role} may do what the page says, to what is its own`, async () => {
      const { call } = await mint({ role });
      const has = (need: string) => roleTable.get(need)![column] === 'yes';
      await atOnce(everyOperation(), async operation => {
        const answer = await attempt(call, operation, own);
        const expected = isEnough(operation, has) ? 200 : 403;
        assert.equal(answer.status, expected, `${nameOf(operation)}: ${answer.text}`);
        await checkForeign(call, operation, isAdmitted(operation, has) ? 404 : 403);
      });
    });

    it(`a member who is ${role} in a vault has there what the page says, and nothing elsewhere`, async () => {
      const { given, spare, call } = await memberOfVault(role);
      const has = (need: string) => {
        const cells = roleTable.get(need)!;
        return cells[none] === 'yes' || (cells[column] === 'yes' && cells[inVault] === 'yes');
      };
      const inVaults = (operation: Operation) =>
        isAdmitted(operation, has) && lineOf(operation).narrowed === 'its vaults';
      await atOnce(everyOperation(), async operation => {
        const vaultId = isEnded(operation) ? spare.pop()! : given.world.vaultId;
        const answer = await attemptIn(call, operation, { ...given, world: { ...given.world, vaultId } });
        checkAnswer(operation, answer, isEnough(operation, has), given.vaultIds);
        if (inVaults(operation)) await checkElsewhere(call, operation);
        await checkForeign(call, operation, inVaults(operation) ? 404 : answer.status);
      });
      await checkLists(call, has);
    });
  }

  const none = grantedRoleNames.length;
  const inVault = none + 1;

  function checkAnswer(
    operation: Operation,
    answer: Answer,
    allowed: boolean,
    vaultIds: readonly string[],
  ): void {
    const { narrowed } = lineOf(operation);
    const name = `${nameOf(operation)} (${narrowed}): ${answer.text}`;
    assert.equal(answer.status, allowed ? statusWhere(narrowed, operation) : 403, name);
    if (answer.status === 200 && Array.isArray(answer.body.data)) checkSeen(answer, narrowed, vaultIds);
  }

  /** Whether a caller is not refused before anything is looked up. */
  function isAdmitted(operation: Operation, has: (need: string) => boolean): boolean {
    const { needs, any } = lineOf(operation);
    return any ? needs.some(has) : needs.every(has);
  }

  /** What one of several permissions is enough for is tried with a vault, and takes the one for vaults. */
  function isEnough(operation: Operation, has: (need: string) => boolean): boolean {
    return isAdmitted(operation, has) && (!lineOf(operation).any || has('vaults:write'));
  }

  /**
   * Whoever has a role in a few vaults alone: by a grant of their own, through a group, or by an API key of theirs from
   * when they were an owner.
   */
  async function memberOfVault(role: string) {
    const { world, unread, ...rest } = await home(own.call);
    const spare = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const vault = await own.call('POST', '/v1/vaults', { name: unique('spare') });
        return vault.body.id as string;
      }),
    );
    const vaultIds = [world.vaultId, unread, world.reviewedId, ...spare];
    const grants = vaultIds.map(vault_id => ({ vault_id, role }));
    const { browser, id } = await person();
    const { body: key } = await browser.post('/v1/api-keys', { name: unique('key'), role: 'owner' });
    const byGroup = role === 'admin' || role === 'auditor';
    const put = await own.call('PUT', `/v1/members/${id}`, { role: 'none', grants: byGroup ? [] : grants });
    assert.equal(put.status, 200, put.text);
    if (byGroup) await own.call('POST', '/v1/groups', { name: unique('group'), grants, member_ids: [id] });
    const signedIn: Call = (method, path, body) => browser.call(method, path, body);
    return {
      given: { ...rest, world, unread, vaultIds },
      spare,
      call: role === 'editor' || role === 'auditor' ? calling(key.token) : signedIn,
    };
  }

  it('what the page says of single vaults is what a role gives there', () => {
    const listed = [...roleTable].flatMap(([name, cells]) => (cells[inVault] === 'yes' ? name : []));
    assert.deepEqual(listed, Object.keys(vaultPermissions));
  });

  /** Another organization's id and one of nothing: the same answer, byte for byte. */
  async function checkForeign(call: Call, operation: Operation, expected: number): Promise<void> {
    if (!operation.path.includes('{id}')) return checkForeignBody(call, operation, expected);
    const body = bodyFor(operation, own.world);
    const theirs = await attempt((method, path) => call(method, path, body), operation, other);
    const nobodys = await call(operation.method, operation.path.replace('{id}', nowhere), body);
    assert.equal(theirs.status, expected, `${nameOf(operation)} of another: ${theirs.text}`);
    assertSame(theirs, nobodys, nameOf(operation));
  }

  /** An id in the body is looked up like one in the path. */
  async function checkForeignBody(call: Call, operation: Operation, expected: number): Promise<void> {
    const example = JSON.stringify(document.requestExample(operation) ?? {});
    if (operation.method !== 'POST' || !/vault_id|key_id|identity_id|secret_id/.test(example)) return;
    const body = bodyFor(operation, other.world);
    const theirs = await call('POST', operation.path, body);
    const nobodys = await call('POST', operation.path, replaceIds(body, other.world));
    if (operation.path.endsWith('/bulk') && theirs.status === 200) {
      assert.equal(theirs.body.results[0].status, expected);
    } else if (operation.path === '/v1/certificates' && expected === 404) {
      assert.equal(theirs.status, 404, theirs.text);
    } else assert.equal(theirs.status, expected, `${nameOf(operation)}: ${theirs.text}`);
    assertSame(theirs, nobodys, nameOf(operation));
  }

  it('scopes narrow a key to what they name, on every route', async () => {
    const reads = scopeNames.filter(scope => scope.endsWith(':read'));
    await atOnce(everyOperation(), async operation => {
      const { needs } = lineOf(operation);
      // What a proposal does takes the permission for that too.
      const more = operation.path.endsWith('/confirm') ? ['secrets:write'] : [];
      const enough = await mint({ role: 'owner', scopes: [...new Set([...reads, ...needs, ...more])] });
      const answer = await attempt(enough.call, operation, own);
      assert.equal(answer.status, 200, `${nameOf(operation)}: ${answer.text}`);
      for (const missing of lineOf(operation).any ? [needs] : needs.map(need => [need])) {
        const scopes = scopeNames.filter(scope => !missing.includes(scope));
        const { call } = await mint({ role: 'owner', scopes });
        const refused = await attempt(call, operation, own);
        assert.equal(refused.status, 403, `${nameOf(operation)} without ${missing}: ${refused.text}`);
      }
    });
  });

  it('a key narrowed to vaults sees them, and of the rest as little as of what does not exist', async () => {
    const shared = await restrictedHome();
    await atOnce(everyOperation(), async operation => {
      // What is done to a vault itself is done to one that nobody else looks at.
      const { call, given, vaultIds } = isEnded(operation) ? await restrictedHome() : shared;
      checkAnswer(operation, await attemptIn(call, operation, given), true, vaultIds);
      if (lineOf(operation).narrowed === 'its vaults') await checkElsewhere(call, operation);
    });
  });

  it('a key narrowed to vaults lists nothing of another vault, also when it asks for that by its id', async () => {
    await checkLists((await restrictedHome()).call, () => true);
  });

  async function checkLists(call: Call, has: (need: string) => boolean): Promise<void> {
    const lists = everyOperation().filter(({ method, value }) => {
      const names = (value.parameters ?? []).map(({ name }: { name: string }) => name);
      return method === 'GET' && names.includes('vault_id') && names.includes('page');
    });
    assert.ok(lists.length >= 5, `${lists.length} lists`);
    for (const operation of lists.filter(one => isEnough(one, has))) {
      const answer = await call('GET', `${operation.path}?vault_id=${own.world.vaultId}`);
      assert.deepEqual([answer.status, answer.body.data], [200, []], `${nameOf(operation)}: ${answer.text}`);
      assert.equal(answer.body.pagination.total, 0, nameOf(operation));
      const nobodys = await call('GET', `${operation.path}?vault_id=${nowhere}`);
      assertSame(answer, nobodys, nameOf(operation));
    }
  }

  /** A vault with something in it, and a key that is given this vault alone. */
  async function restrictedHome() {
    const given = await home(own.call);
    const vaultIds = [given.world.vaultId, given.unread, given.world.reviewedId];
    const { call } = await mint({ role: 'owner', vault_ids: vaultIds });
    return { given, call, vaultIds };
  }

  const isOfVault = ({ path }: Operation) => /^\/v1\/(vaults|resources)\/\{id\}/.test(path);
  /** Done to a vault itself, which is deleted by it or before it. */
  const isEnded = (operation: Operation) =>
    isOfVault(operation) && (operation.method === 'DELETE' || operation.path.endsWith('/restore'));

  /** Vaults are what the key is given; everything else is made in them. */
  async function attemptIn(call: Call, operation: Operation, given: Home) {
    if (!isOfVault(operation)) return attempt(call, operation, given);
    const path = operation.path.replace('{id}', given.world.vaultId);
    if (path.endsWith('/restore')) await given.call('DELETE', `/v1/vaults/${given.world.vaultId}`);
    // The name of a vault is for those to give who may know of all of them.
    const { name: _, ...body } = bodyFor(operation, given.world) ?? {};
    return call(operation.method, path, operation.method === 'PUT' ? body : undefined);
  }

  async function checkElsewhere(call: Call, operation: Operation): Promise<void> {
    if (!operation.path.includes('{id}')) return;
    const answer = await attempt(call, operation, own);
    const nobodys = await call(
      operation.method,
      operation.path.replace('{id}', nowhere),
      bodyFor(operation, own.world),
    );
    assert.equal(answer.status, 404, `${nameOf(operation)} elsewhere: ${answer.text}`);
    assertSame(answer, nobodys, nameOf(operation));
  }

  function statusWhere(narrowed: string, { path, method }: Operation): number {
    if (narrowed === 'refused') return 403;
    // What is created names in its body what can’t be seen.
    return narrowed === 'sees none' && (path.includes('{id}') || method === 'POST') ? 404 : 200;
  }

  function checkSeen({ body }: Answer, narrowed: string, vaultIds: readonly string[]): void {
    if (narrowed === 'sees none')
      assert.deepEqual(body, { data: [], pagination: { total: 0, page: 1, limit: 20 } });
    for (const item of body.data) {
      if ('current' in item) continue; // A version of something that was looked up by its id.
      for (const id of item.vault_ids ?? [item.vault_id ?? item.id]) assert.ok(vaultIds.includes(id));
    }
  }

  it('`/v1/resources` takes the permission of the type in question', async () => {
    const { call } = await mint({ role: 'owner', scopes: ['secrets:read', 'secrets:write'] });
    const { vaultId } = own.world;
    const secret = await call('POST', '/v1/resources', {
      type: 'secret',
      vault_id: vaultId,
      name: unique('secret'),
      value: 'x',
    });
    assert.equal(secret.status, 200, secret.text);
    assert.equal((await call('GET', '/v1/resources?type=secret')).status, 200);
    assert.equal((await call('GET', '/v1/resources?type=key')).status, 403);
    assert.equal((await call('PUT', `/v1/resources/${vaultId}`, { name: 'x' })).status, 403);
    assert.equal((await call('DELETE', `/v1/resources/${vaultId}`)).status, 403);
    assert.equal((await call('DELETE', `/v1/resources/${secret.body.id}`)).status, 200);
  });

  /** Somebody who joined, and is signed in. */
  async function person(): Promise<{ browser: Browser; id: string }> {
    const { body } = await own.call('POST', '/v1/members', {
      email: `${unique('p')}@example.org`,
      role: 'owner',
    });
    const browser = new Browser(service.url);
    const joined = await browser.post('/auth/invitation/accept', { token: body.token, password });
    assert.equal(joined.status, 200, joined.text);
    return { browser, id: body.id };
  }

  const authOperations = () => [...document.operations('/auth/'), ...document.operations('/api/v1/login')];
  const takes = ({ value }: Operation, scheme: string) =>
    JSON.stringify(value.security) === `[{"${scheme}":[]}]`;
  const sessionOperations = () => authOperations().filter(operation => takes(operation, 'session'));

  it('the document has every route under /auth and the login of machines, and asks for a session where the page does', () => {
    const listed = [...withoutKey.keys()].filter(name => / (\/auth\/|\/api\/v1\/login$)/.test(name));
    assert.deepEqual(authOperations().map(nameOf).sort(), listed.sort());
    for (const operation of authOperations()) {
      const credential = withoutKey.get(nameOf(operation))!;
      assert.equal(takes(operation, 'session'), credential.startsWith('dashboard'), nameOf(operation));
    }
    assert.ok(sessionOperations().length > 10);
  });

  it('without a session of their own nobody does what takes one: the same 401 on every route', async () => {
    const { browser: gone } = await person();
    const over = gone.cookie!;
    assert.equal((await gone.post('/auth/sign-out')).status, 200);
    const cookies: Record<string, string | null> = {
      none: null,
      nonsense: 'sr_session_short',
      unknown: mintToken('session', nowhere),
      'of a session that ended': over,
      'an API key': service.key,
    };
    const seen = new Set<string>();
    for (const operation of sessionOperations()) {
      for (const [kind, cookie] of Object.entries(cookies)) {
        service.clock.pass(2_000); // More than 60 failures a minute would be limited.
        const browser = new Browser(service.url);
        if (cookie !== null) browser.cookies.set(cookieName, cookie);
        const path = operation.path.replace('{id}', nowhere);
        const body = operation.method === 'POST' ? {} : undefined;
        // A key of the API is no session, whichever way it is sent.
        const answer = await browser.call(operation.method, path, body, {}, service.key);
        assert.equal(answer.status, 401, `${nameOf(operation)} with ${kind}: ${answer.text}`);
        seen.add(answer.text);
      }
    }
    assert.equal(seen.size, 1);
  });

  it('another page can’t use the session of a browser, on any route that changes something', async () => {
    const { browser } = await person();
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    for (const operation of authOperations().filter(({ method }) => method !== 'GET')) {
      const path = operation.path.replace('{id}', nowhere);
      const answer = await browser.call(operation.method, path, {}, foreign);
      assert.equal(answer.status, 403, `${nameOf(operation)}: ${answer.text}`);
    }
    assert.equal((await browser.get('/auth/sessions')).status, 200, 'it is signed in still');
  });

  it('what is another’s under /auth is like what does not exist', async () => {
    const [{ browser: one }, { browser: another }] = [await person(), await person()];
    const { body } = await another.get('/auth/sessions');
    for (const operation of sessionOperations().filter(({ path }) => path.includes('{id}'))) {
      const theirs = await one.call(operation.method, operation.path.replace('{id}', body.data[0].id));
      const nobodys = await one.call(operation.method, operation.path.replace('{id}', nowhere));
      assertSame(theirs, nobodys, nameOf(operation));
      assert.notEqual(theirs.status, 200, nameOf(operation));
    }
    assert.equal((await another.get('/auth/sessions')).status, 200);
  });

  it('where /auth asks for no credential, nothing that proves nobody signs anyone in', async () => {
    for (const operation of authOperations().filter(({ value }) => value.security.length === 0)) {
      service.clock.pass(2_000);
      const browser = new Browser(service.url);
      const answer = await browser.call(operation.method, operation.path, document.requestExample(operation));
      // Sent on to the sign-in page, which is shown to browsers alone.
      const redirects = '302' in operation.value.responses;
      const open = /^(GET \/auth\/state|POST \/auth\/(sign-out|passkey\/options|device))$/.test(
        nameOf(operation),
      );
      assert.equal(answer.status, redirects ? 404 : open ? 200 : 401, `${nameOf(operation)}: ${answer.text}`);
      assert.equal(browser.cookie, undefined, nameOf(operation));
    }
  });

  it('a refusal is written to the audit log', async () => {
    const { id, call } = await mint({ role: 'viewer' });
    await call('POST', '/v1/vaults', { name: 'x' });
    const { body } = await own.call('GET', '/v1/audit-logs?limit=5');
    const entry = body.data.find((one: Json) => one.actor.id === id);
    assert.equal(entry.outcome, 'denied');
    assert.equal(entry.action, 'vaults:write');
  });
});

/** Bodies that give away nothing, so that the route's own permission is all that they take. */
function bodyFor(operation: Operation, world: World): Json {
  const { path, method } = operation;
  const example = operation.value.requestBody?.content['application/json'].example;
  return modest(`${method} ${path}`, realBody(example, world));
}

function modest(route: string, body: Json): Json {
  if (route === 'POST /v1/access-keys' || route === 'POST /v1/identities')
    return { ...body, names_only: true };
  if (route === 'POST /v1/api-keys') return { ...body, role: 'owner', scopes: ['api-keys:write'] };
  const asViewer = () => body.grants.map((grant: Json) => ({ ...grant, role: 'viewer' }));
  if (route === 'POST /v1/members') return { ...body, role: 'auditor', grants: asViewer() };
  if (route === 'POST /v1/groups') return { ...body, grants: asViewer() };
  return body;
}

function making(call: Call): Call {
  return (method, path, body) => call(method, path, modest(`${method} ${path}`, body));
}

function replaceIds(body: Json, { vaultId, keyId, identityId, secretId }: World): Json {
  const ids = [vaultId, keyId, identityId, secretId];
  return JSON.parse(ids.reduce((text, id) => text.replaceAll(id, nowhere), JSON.stringify(body)));
}

function assertSame(one: Answer, another: Answer, name: string): void {
  const shown = ({ status, text, headers }: Answer) => {
    const rest = [...headers].filter(([header]) => !['x-request-id', 'date'].includes(header));
    return { status, text, headers: rest };
  };
  assert.deepEqual(shown(one), shown(another), name);
}
