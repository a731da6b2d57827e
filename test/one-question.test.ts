/**
 * A request is identified once, and each permission that it takes is asked once, at every route of the general API and of
 * `/auth`. The application is the real one, over a real store: the only things put around it count the questions.
 */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import type { Action } from '../src/access/policy.ts';
import { operatorOf } from '../src/cli/service/operator.ts';
import { buildApp } from '../src/http/app.ts';
import type { AppParts } from '../src/http/surface/surface-parts.ts';
import { Meter } from '../src/metrics/meter.ts';
import { openStrongroom, type Strongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import {
  type Call,
  Document,
  makeWorld,
  type Operation,
  realBody,
  realPath,
  type World,
} from './document.ts';
import { cheapPasswords, loopbackWebhooks } from './harness.ts';
import { dataFolder } from './postgres.ts';

interface Asked {
  identified: number;
  permissions: string[];
}

const site = { origin: 'http://localhost:8080', host: 'localhost' };

/** Permissions that depend on what was sent or found, beside those that the route declares: each is another permission. */
const further: Readonly<Record<string, readonly Action[]>> = {
  // Values are compared for those who may reveal them.
  'POST /v1/vaults/compare': ['secrets:reveal'],
  'POST /v1/stages/{id}/compare': ['secrets:reveal'],
  // Each step of the rotation is the service's own.
  'POST /v1/secrets/{id}/rotate': ['secrets:write', 'secrets:write', 'secrets:write'],
  // A proposal is listed for those who may see all that it tells.
  'GET /v1/proposals': ['proposals:read', 'vaults:read', 'secrets:read', 'keys:read', 'certificates:read'],
  // What waits is counted by the lists of it.
  'GET /v1/attention': [
    'approvals:read',
    'members:read',
    'proposals:read',
    'proposals:read',
    'vaults:read',
    'secrets:read',
    'keys:read',
    'certificates:read',
  ],
};

describe('the questions that a request asks', () => {
  let data: string;
  let strongroom: Strongroom;
  let app: ReturnType<typeof buildApp>;
  let document: Document;
  let world: World;
  let key: string;
  let session: string;
  let asked: Asked;

  /** Counts every time that somebody is identified, and every permission that is asked for. */
  function count({ domain }: Strongroom): void {
    const { guard, authenticate, accounts } = domain;
    const { admit, admitAny } = guard;
    Object.assign(guard, {
      admit: (caller: Caller, action: Action, ...others: Action[]) => {
        asked.permissions.push([action, ...others].join(' and '));
        return admit(caller, action, ...others);
      },
      admitAny: (caller: Caller, actions: [Action, ...Action[]]) => {
        asked.permissions.push(actions.join(' or '));
        return admitAny(caller, actions);
      },
    });
    const counted =
      <Given extends unknown[], T>(identify: (...given: Given) => Promise<T>) =>
      (...given: Given) => {
        asked.identified++;
        return identify(...given);
      };
    Object.assign(authenticate, {
      apiKey: counted(authenticate.apiKey),
      accessKeyAnywhere: counted(authenticate.accessKeyAnywhere),
    });
    Object.assign(accounts.sessions, { require: counted(accounts.sessions.require) });
  }

  const send = async (method: string, path: string, body: unknown, headers: Record<string, string>) => {
    asked = { identified: 0, permissions: [] };
    const answer = await app.inject({
      method: method as 'GET',
      url: path,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    });
    const isJson = /^application\/json(;|$)/.test(String(answer.headers['content-type']));
    return {
      status: answer.statusCode,
      text: answer.body,
      body: isJson && answer.body !== '' ? JSON.parse(answer.body) : null,
    };
  };
  const call = ((method, path, body) => send(method, path, body, { authorization: `Bearer ${key}` })) as Call;

  before(async () => {
    data = await dataFolder();
    const flags = ['--data', data, ...loopbackWebhooks];
    strongroom = await openStrongroom(readConfig(serveOptions, flags, {}), false, Date.now, {
      passwordCosts: cheapPasswords,
    });
    const { domain, newId, now } = strongroom;
    const origin = { address: '192.0.2.1', userAgent: 'test', requestId: newId() };
    const token = (await domain.accounts.joining.setupToken())!;
    const owner = {
      token,
      email: 'owner@example.com',
      password: 'correct horse battery',
      organization: 'Acme',
    };
    session = await domain.accounts.joining.setUp(site, owner, origin);
    const { caller } = await domain.accounts.sessions.require(session, origin);
    const operator = operatorOf(caller.organizationId, newId);
    const permit = await domain.guard.admit(operator, 'api-keys:write');
    key = (await domain.apiKeys.create(permit, { name: 'Owner', role: 'owner' })).token!;
    count(strongroom);
    const parts = {
      domain,
      now,
      newId,
      meter: new Meter(),
      addressOf: () => '192.0.2.1',
      encrypted: false,
      version: '1.2.3',
      draining: () => false,
      onError: (error: unknown) => assert.fail(String(error)),
      countRequests: async () => 1,
      siteOf: () => site,
      singleSignOn: null,
      oauth: null,
    } as unknown as AppParts;
    app = buildApp(parts, () => {});
    document = new Document((await send('GET', '/v1/openapi.json', undefined, {})).body);
    world = await makeWorld(call);
  });
  after(async () => {
    await app.close();
    await strongroom.close();
    await rm(data, { recursive: true, force: true });
  });

  const nameOf = ({ method, path }: Operation) => `${method} ${path}`;
  const bodyFor = (operation: Operation) => realBody(document.requestExample(operation), world);

  /**
   * Without a body, a caller is identified once. A body may arrive long after the headers, and the caller may have been
   * revoked meanwhile: so they are identified again, by the same authenticator, once it is there. That the body of a
   * stranger is not read takes the first time; that one who was revoked changes and learns nothing takes the second.
   */
  const identifications = (body: unknown) => (body === undefined ? 1 : 2);

  /** As the document says it. */
  function permissionsOf({ value }: Operation): string[] {
    const named = [...String(value.description).matchAll(/`([a-z-]+:[a-z]+)`/g)].map(([, name]) => name!);
    return value.description.includes(' or ') ? [named.join(' or ')] : named;
  }

  it('are one about who it is, and one about each permission, at every route of the general API', async () => {
    const operations = document.operations().filter(({ path }) => path !== '/v1/health');
    assert.ok(operations.length > 100);
    for (const operation of operations) {
      const { method, path } = operation;
      const name = nameOf(operation);
      // No call waits for an approval here, nor a write for review, no vault was read, and nothing was issued.
      const isMissing = /^\/v1\/((approvals|request-logs)\/\{id\}$|(proposals|leases)\/\{id\})/.test(path);
      const place = isMissing
        ? path.replace('{id}', world.vaultId)
        : await realPath(call, document, operation, world);
      const body = bodyFor(operation);
      const { status, text } = await call(method, place, body);
      assert.equal(status, isMissing ? 404 : 200, `${name}: ${text}`);
      assert.equal(asked.identified, identifications(body), name);
      const expected = name === 'POST /v1/resources' ? ['vaults:write'] : permissionsOf(operation);
      const questions = asked.permissions.flatMap(one => one.split(' and '));
      assert.deepEqual(questions, [...expected, ...(further[name] ?? [])], name);
    }
  });

  it('of a resource of any type are about any type, and then about its own', async () => {
    const { vaultId: vault_id } = world;
    const made = await call('POST', '/v1/secrets', { vault_id, name: 'ANY', value: 'x' });
    await call('PUT', `/v1/resources/${made.body.id}`, { tags: { a: 'b' } });
    assert.deepEqual(asked.permissions, [anyWrite, 'secrets:write']);
    await call('DELETE', `/v1/resources/${made.body.id}`);
    assert.deepEqual(asked.permissions, [anyWrite, 'secrets:write']);
  });

  it('of a record that is sent back whole are about reading it too, once', async () => {
    const expiration_date = new Date(Date.now() + 200).toISOString();
    const { vaultId: vault_id } = world;
    const { body } = await call('POST', '/v1/secrets', {
      vault_id,
      name: 'BACK',
      value: 'x',
      expiration_date,
    });
    await new Promise(resolve => setTimeout(resolve, 201));
    assert.equal((await call('PUT', `/v1/secrets/${body.id}`, body)).status, 200);
    assert.deepEqual([asked.identified, asked.permissions], [2, ['secrets:read', 'secrets:write']]);
    const items = ['a', 'b'].map(tag => ({ id: body.id, expiration_date, tags: { tag } }));
    assert.equal((await call('POST', '/v1/secrets/bulk', { items })).status, 200);
    assert.deepEqual([asked.identified, asked.permissions], [2, ['secrets:write', 'secrets:read']]);
  });

  it('of a caller who is refused are the same, up to the one that refuses', async () => {
    const { body } = await call('POST', '/v1/api-keys', { name: 'viewer', role: 'viewer' });
    const viewer = { authorization: `Bearer ${body.token}` };
    assert.equal((await send('DELETE', `/v1/secrets/${world.secretId}`, undefined, viewer)).status, 403);
    assert.deepEqual([asked.identified, asked.permissions], [1, ['secrets:write']]);
    assert.equal((await send('GET', '/v1/secrets', undefined, { authorization: 'Bearer x' })).status, 401);
    assert.deepEqual([asked.identified, asked.permissions], [1, []]);
  });

  it('are one about who is signed in, at every route of /auth that takes a session', async () => {
    const { cookie, origin } = { cookie: `__Host-strongroom=${session}`, origin: site.origin };
    const isOfSession = ({ value }: Operation) => JSON.stringify(value.security ?? []).includes('session');
    const operations = document.operations('/auth/').filter(isOfSession);
    assert.ok(operations.length > 15, String(operations.length));
    // What ends the session comes last.
    for (const operation of operations.toSorted(one => (nameOf(one) === 'DELETE /auth/session' ? 1 : -1))) {
      const path = operation.path.replace('{id}', world.vaultId);
      const body = bodyFor(operation);
      await send(operation.method, path, body, { cookie, origin });
      assert.equal(asked.identified, identifications(body), nameOf(operation));
      assert.ok(asked.permissions.length <= 1, nameOf(operation));
    }
  });

  const dialect: [method: string, path: string, body: unknown, permissions: string[]][] = [
    ['GET', 'data/USED', undefined, ['vaults:read', 'secrets:reveal']],
    ['GET', 'metadata/USED', undefined, ['vaults:read', 'secrets:read']],
    ['GET', 'metadata?list=true', undefined, ['vaults:read', 'secrets:read']],
    ['PUT', 'data/USED', { data: { value: 'y' } }, ['vaults:read', 'secrets:write']],
    ['PATCH', 'data/USED', { data: { value: 'z' } }, ['vaults:read', 'secrets:reveal', 'secrets:write']],
    ['PUT', 'metadata/USED', { custom_metadata: { a: 'b' } }, ['vaults:read', 'secrets:write']],
    ['PUT', 'data/NEW', { data: { value: 'y' } }, ['vaults:read', 'secrets:write']],
    ['DELETE', 'data/USED', undefined, ['vaults:read', 'secrets:write']],
    ['DELETE', 'metadata/USED', undefined, ['vaults:read', 'secrets:write']],
  ];
  it('in Vault’s dialect are the same, and one about the vault’s name', async () => {
    const { body: vault } = await call('POST', '/v1/vaults', { name: 'mounted' });
    await call('POST', '/v1/secrets', { vault_id: vault.id, name: 'USED', value: 'x' });
    for (const [method, path, body, permissions] of dialect) {
      const answer = await call(method, `/vault/v1/mounted/${path}`, body);
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
      assert.deepEqual([asked.identified, asked.permissions], [identifications(body), permissions], path);
    }
  });
});

const anyWrite = 'vaults:write or secrets:write or keys:write or certificates:write';
