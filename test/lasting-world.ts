/**
 * What sends, grants or reads after whoever made it: every route that gives such a thing, with a way to see whether what
 * came of it works; who may ask for it; and how each of them ends. A route that is in neither list fails the tests.
 */
import assert from 'node:assert/strict';
import { narrow } from '../src/client/client.ts';
import { authorityBody, elsewhere, profileBody } from './authorities-world.ts';
import type { Json } from './document.ts';
import { type Answer, callService, type EngineName, loopbackWebhooks } from './harness.ts';
import { issuerBody } from './leases-world.ts';
import { asking, signedIn, startOAuth } from './oauth-world.ts';
import { type Browser, type EmptyService, invite, password } from './people.ts';

export const minute = 60_000;
export const hour = 60 * minute;

/** Routes that give nothing that lasts, and why. */
const harmless: readonly (readonly [RegExp, string])[] = [
  [/^DELETE /, 'takes something away'],
  [
    /^\w+ \/v1\/(vaults|secrets|keys|certificates|resources|stages|organization)\b/,
    'is a resource, which others are given access to',
  ],
  [/^POST \/v1\/use-rules\/check$/, 'changes nothing'],
  [/^POST \/v1\/issuers\/:id\/check$/, 'changes nothing'],
  [/^POST \/v1\/leases\/:id\/(renew|revoke)$/, 'is for the access key that has it, and ends with that'],
  [/^POST \/v1\/runs\/:id\/end$/, 'takes something away'],
  [/^POST \/v1\/profiles\/:id\/issue$/, 'ends with what requested it, or within 90 days'],
  [/^POST \/v1\/issued-certificates\/:id\/revoke$/, 'takes something away'],
  [/^POST \/acme\//, 'is for accounts that are bound to an access key, and ends with that'],
  [/^POST \/v1\/webhooks\/:id\/test$/, 'sends one event, once'],
  [/^POST \/v1\/webhook-deliveries\/:id\/redeliver$/, 'sends one event, once'],
  [/^POST \/mcp$/, 'its tools read and use, and give nothing'],
  [/^(PUT|PATCH|POST) \/vault$/, 'has no path'],
  [/^(PUT|PATCH) \/vault\/\*$/, 'does what POST does'],
  [/^PUT \/auth\/mail$/, 'chooses which messages its own person gets'],
  [/^POST \/auth\/device(\/(deny|request|revoke|token))?$/, 'asks, refuses, or fetches what was approved'],
  [/^POST \/auth\/device\/approve$/, 'is a sign-in: test/device-login.test.ts asks for its proof'],
  [/^POST \/auth\/oauth\/(deny|request)$/, 'gives nothing'],
  [/^POST \/auth\/approvals\/:id\/refuse$/, 'gives nothing'],
  [/^POST \/auth\/role-requests(\/:id\/refuse)?$/, 'asks, or refuses'],
  [/^POST \/v1\/proposals\/:id\/(reveal|reject)$/, 'shows, or takes away'],
  [/^POST \/v1\/proposals\/:id\/confirm$/, 'does what its author may still do, once'],
  [/^POST \/auth\/(setup|invitation|password$|passkey$|passkey\/options|sign-out)/, 'is how people sign in'],
  [/^POST \/auth\/(proof|totp|passkeys|password\/change)/, 'test/proofs.test.ts tries each without a proof'],
  [/^POST \/oauth\/(register|revoke|token)$/, 'fetches what was approved, or takes it away'],
  [/^POST \/api\/v1\/login$/, 'gives what the identity was given before'],
];

export interface World {
  readonly service: EmptyService;
  readonly owner: Browser;
  readonly vaultId: string;
  readonly keyId: string;
  readonly secretId: string;
  /** Made by the owner, without an end. */
  readonly standing: Readonly<Record<string, string>>;
}

interface Given {
  /** Where the route itself is not the path. */
  readonly path?: (world: World) => string | Promise<string>;
  readonly body: (world: World) => unknown;
  /** Whether what was made works. Without it, nobody but a proven person and an API key without an end is given it. */
  readonly works?: (world: World, made: Json) => Promise<boolean>;
}

let names = 0;
const name = () => `given ${++names}`;
const later = ({ service }: World) => new Date(service.clock.now() + hour).toISOString();
const call = ({ service }: World, method: string, path: string, body?: unknown, key: string | null = null) =>
  callService(service.url, method, path, body, key);
const isOk = async (answer: Promise<Answer>) => (await answer).status === 200;

const lists = (world: World, key: string) =>
  isOk(call(world, 'GET', `/api/v1/vaults/${world.vaultId}`, undefined, key));

export const reads = (world: World, key: string) =>
  isOk(call(world, 'GET', `/api/v1/vaults/${world.vaultId}?name=TOKEN`, undefined, key));

async function logsIn(world: World, identity_id: string, secret_id: string): Promise<boolean> {
  const { status, body } = await call(world, 'POST', '/api/v1/login', { identity_id, secret_id });
  return status === 200 && reads(world, body.access_key?.token ?? body.token);
}

/** A secret id that the owner creates, so that nothing but the identity itself can stand in the way. */
async function identityWorks(world: World, { id }: Json): Promise<boolean> {
  const made = await world.owner.post('/v1/secret-ids', { identity_id: id });
  return made.status === 200 && logsIn(world, id, made.body.token);
}

async function waiting(world: World): Promise<string> {
  const { standing, vaultId } = world;
  const use = {
    secret: 'TOKEN',
    rule: standing['use-rules'],
    method: 'POST',
    url: `https://api.example.org/${++names}`,
  };
  const answer = await call(world, 'POST', `/api/v1/vaults/${vaultId}/use`, use, standing.agent);
  assert.equal(answer.status, 403, answer.text);
  return answer.body.approval.id;
}

const asker = 'asks@example.org';

/** A request for a role by somebody who joined before. */
async function asked(world: World): Promise<string> {
  const browser = world.service.browser();
  await browser.signIn(asker);
  const body = { vault_id: world.vaultId, role: 'reader', until: later(world) };
  const answer = await browser.post('/auth/role-requests', body);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.id;
}

/** A template that gives the readers of its vault a secret of another one. */
const referring = { kind: 'template', value: '$' + '{vault:other/FAR}' };

async function ownSecret({ owner, vaultId }: World): Promise<Json> {
  const made = await owner.post('/v1/secrets', { vault_id: vaultId, name: name(), value: 'own' });
  assert.equal(made.status, 200, made.text);
  return made.body;
}

const rule = {
  hosts: ['api.example.org'],
  methods: ['POST'],
  paths: ['/**'],
  place: { type: 'bearer' },
  response: 'status-only',
};
const identity = ({ vaultId }: World) => ({ name: name(), method: 'secret_id', vault_ids: [vaultId] });

/** Every route that gives something. */
export const giving: Readonly<Record<string, Given>> = {
  'POST /v1/api-keys': {
    body: () => ({ name: name(), role: 'owner' }),
    works: (world, { token }) => isOk(call(world, 'GET', '/v1/whoami', undefined, token)),
  },
  'POST /v1/access-keys': {
    body: ({ vaultId }) => ({ name: name(), vault_id: vaultId }),
    works: (world, { token }) => reads(world, token),
  },
  'POST /v1/public-tokens': {
    body: ({ keyId }) => ({ key_id: keyId }),
    works: (world, { token }) => isOk(call(world, 'GET', '/api/v1/public-key', undefined, token)),
  },
  'POST /v1/identities': { body: identity, works: identityWorks },
  'POST /v1/secret-ids': {
    body: ({ standing }) => ({ identity_id: standing.identities }),
    works: (world, { identity_id, token }) => logsIn(world, identity_id, token),
  },
  'POST /v1/members': { body: () => ({ email: `p${++names}@example.org`, role: 'owner' }) },
  'POST /v1/members/:id/invitation': { body: () => undefined },
  'POST /v1/groups': { body: ({ standing }) => ({ name: name(), member_ids: [standing.members] }) },
  'POST /v1/vaults': { body: ({ vaultId }) => ({ name: name(), referable_from: [vaultId] }) },
  'PUT /v1/vaults/:id': {
    path: async ({ owner }) => `/v1/vaults/${(await owner.post('/v1/vaults', { name: name() })).body.id}`,
    body: ({ vaultId }) => ({ referable_from: [vaultId] }),
  },
  'POST /v1/secrets': { body: ({ vaultId }) => ({ vault_id: vaultId, name: name(), ...referring }) },
  'PUT /v1/secrets/:id': {
    path: async world => `/v1/secrets/${(await ownSecret(world)).id}`,
    body: () => referring,
  },
  'POST /v1/secrets/:id/rollback': {
    path: async ({ owner, standing: { secrets } }) => {
      const changed = await owner.call('PUT', `/v1/secrets/${secrets}`, { kind: 'value', value: 'own' });
      assert.equal(changed.status, 200, changed.text);
      return `/v1/secrets/${secrets}/rollback`;
    },
    body: () => ({ version: 1 }),
  },
  'POST /v1/webhooks': { body: () => ({ url: 'https://hooks.example.org/', events: ['resource.updated'] }) },
  'POST /v1/webhooks/:id/rotate-secret': { body: () => undefined },
  'POST /v1/use-rules': { body: ({ secretId }) => ({ name: name(), secret_id: secretId, ...rule }) },
  'POST /v1/issuers': { body: ({ vaultId }) => issuerBody(vaultId, name()) },
  'POST /v1/runs': {
    body: ({ vaultId }) => ({ purpose: name(), vault_ids: [vaultId] }),
    works: (world, { token }) => lists(world, token),
  },
  'PUT /v1/issuers/:id': { body: () => ({ max_ttl: 4_000 + ++names }) },
  'POST /v1/authorities': { body: ({ vaultId }) => authorityBody(vaultId, name()) },
  'PUT /v1/authorities/:id': { body: ({ standing }) => ({ certificate: standing.signedElsewhere }) },
  'POST /v1/profiles': { body: ({ standing }) => profileBody(standing.authorities!, name()) },
  'POST /v1/profiles/:id/acme-binding': {
    body: ({ standing }) => ({ access_key_id: standing['access-keys'] }),
  },
  'PUT /v1/profiles/:id': { body: () => ({ max_days: 1 + (++names % 90) }) },
  'PUT /v1/api-keys/:id': { body: world => ({ expiration_date: later(world) }) },
  'PUT /v1/access-keys/:id': { body: () => ({ rate_limit: 1_000 + ++names }) },
  'PUT /v1/public-tokens/:id': { body: world => ({ expiration_date: later(world) }) },
  'PUT /v1/identities/:id': { body: () => ({ lifetime: 900 + ++names }) },
  'PUT /v1/secret-ids/:id': { body: world => ({ expiration_date: later(world) }) },
  'PUT /v1/members/:id': { body: () => ({ role: 'admin' }) },
  'PUT /v1/groups/:id': { body: ({ standing }) => ({ member_ids: [standing.members] }) },
  'PUT /v1/webhooks/:id': { body: () => ({ url: `https://${++names}.example.org/` }) },
  'PUT /v1/use-rules/:id': { body: () => ({ rate_limit: 1_000 + ++names }) },
  'POST /auth/approvals/:id/approve': {
    path: async world => `/auth/approvals/${await waiting(world)}/approve`,
    body: () => ({ scope: 'rule' }),
  },
  'POST /auth/role-requests/:id/approve': {
    path: async world => `/auth/role-requests/${await asked(world)}/approve`,
    body: () => ({}),
  },
  'POST /auth/oauth/approve': {
    body: ({ service, vaultId }) => ({
      request: asking(service.url).query,
      vault_id: vaultId,
      scopes: ['secrets:read'],
    }),
  },
  'POST /vault/*': {
    path: () => '/vault/v1/auth/token/create',
    body: () => ({ ttl: '50m' }),
    works: (world, { auth }) => reads(world, auth.client_token),
  },
};

/** The routes that change something and are in no list. */
export function undecided(routes: Iterable<string>): string[] {
  const isChange = (route: string) => !/^(GET|HEAD|OPTIONS) /.test(route);
  return [...routes].filter(
    route => isChange(route) && !(route in giving) && !harmless.some(([pattern]) => pattern.test(route)),
  );
}

/** Sends what a route takes; what it is done to was made by the owner, unless another is named. */
export type Send = (method: string, path: string, body: unknown) => Promise<Answer>;
export async function ask(world: World, route: string, send: Send): Promise<Answer> {
  const [method = '', pattern = ''] = route.split(' ');
  const { path, body } = giving[route]!;
  const id = world.standing[pattern.split('/')[2]!]!;
  return send(method, (await path?.(world)) ?? pattern.replace(':id', id), body(world));
}

export async function startLasting(engine: EngineName): Promise<World> {
  const { service, owner, vaultId, keyId } = await startOAuth(engine, [
    '--oauth',
    'offered',
    ...loopbackWebhooks,
  ]);
  const make = async (collection: string, body: unknown): Promise<Json> => {
    const answer = await owner.post(`/v1/${collection}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  await invite(service, owner, asker, 'viewer');
  const { body: secrets } = await owner.get('/v1/secrets');
  const secretId = secrets.data[0].id;
  const other = await make('vaults', { name: 'other', referable_from: [vaultId] });
  await make('secrets', { vault_id: other.id, name: 'FAR', value: 'far' });
  const agent = await make('access-keys', {
    name: 'agent',
    vault_id: vaultId,
    names_only: true,
    may_use: true,
  });
  const { id: identities } = await make('identities', {
    name: 'runner',
    method: 'secret_id',
    vault_ids: [vaultId],
  });
  const webhook = { url: 'https://hooks.example.org/', events: ['resource.created'] };
  const waiting = { ...authorityBody(vaultId, 'ca'), kind: 'intermediate' };
  const { id: authorities, request } = await make('authorities', waiting);
  const standing = {
    agent: agent.token,
    secrets: (await make('secrets', { vault_id: vaultId, name: 'referred once', ...referring })).id,
    'access-keys': agent.id,
    identities,
    'api-keys': (await make('api-keys', { name: 'ci', role: 'viewer' })).id,
    'public-tokens': (await make('public-tokens', { key_id: keyId })).id,
    'secret-ids': (await make('secret-ids', { identity_id: identities })).id,
    members: (await make('members', { email: 'colleague@example.org', role: 'viewer' })).id,
    groups: (await make('groups', { name: 'Team' })).id,
    webhooks: (await make('webhooks', webhook)).id,
    issuers: (await make('issuers', issuerBody(vaultId, 'db'))).id,
    authorities,
    signedElsewhere: await (await elsewhere()).sign(request),
    profiles: (await make('profiles', profileBody(authorities, 'services'))).id,
    'use-rules': (await make('use-rules', { name: 'calls', secret_id: secretId, ...rule })).id,
  };
  return { service, owner, vaultId, keyId, secretId, standing };
}

/** Whoever asks for what lasts. */
export interface Maker {
  readonly member: { readonly browser: Browser; readonly id: string };
  readonly send: Send;
  /** Whether it is itself still good for anything. */
  works(): Promise<boolean>;
  revoke(): Promise<unknown>;
  /** In milliseconds, from when it was made. */
  readonly life: number;
}

const member = ({ service, owner }: World) => invite(service, owner, `p${++names}@example.org`, 'owner');

function withApiKey(world: World, of: Maker['member'], { id, token }: Json, path = '/v1/api-keys'): Maker {
  const by = path === '/v1/api-keys' ? world.owner : of.browser;
  return {
    member: of,
    send: (method, path, body) => call(world, method, path, body, token),
    works: () => isOk(call(world, 'GET', '/v1/whoami', undefined, token)),
    revoke: () => by.call('DELETE', `${path}/${id}`),
    life: hour,
  };
}

function withAccessKey(world: World, of: Maker['member'], token: string, revoke: Maker['revoke']): Maker {
  return {
    member: of,
    send: (method, path, body) => {
      const header = path.startsWith('/vault/')
        ? { 'x-vault-token': token }
        : { authorization: `Bearer ${token}` };
      return callService(world.service.url, method, path, body, null, header);
    },
    works: () => reads(world, token),
    revoke,
    life: hour,
  };
}

/** How a command line is signed in, at this moment proven. */
export async function commandLine(world: World, of: Maker['member']): Promise<Maker> {
  const { service } = world;
  service.clock.pass(minute);
  const { body: begun } = await call(world, 'POST', '/auth/device', {});
  await of.browser.prove();
  const approval = { user_code: begun.user_code, role: 'owner', expires_in: hour / 1_000 };
  const approved = await of.browser.post('/auth/device/approve', approval);
  assert.equal(approved.status, 200, approved.text);
  service.clock.pass(2_000);
  const { body } = await call(world, 'POST', '/auth/device/token', { device_code: begun.device_code });
  return withApiKey(world, of, body.api_key, '/auth/device/keys');
}

/** None of them was proven in the last five minutes. */
export const makers: Readonly<Record<string, (world: World) => Promise<Maker>>> = {
  'a session': async world => {
    const of = await member(world);
    world.service.clock.pass(5 * minute);
    return {
      member: of,
      send: (method, path, body) => of.browser.once(method, path, body),
      works: () => isOk(of.browser.get('/v1/whoami')),
      revoke: () => of.browser.post('/auth/sign-out'),
      life: 7 * 24 * hour,
    };
  },
  'an API key that expires': async world => {
    const of = await member(world);
    const wanted = { name: name(), role: 'owner', expiration_date: later(world) };
    const { body } = await of.browser.post('/v1/api-keys', wanted);
    return withApiKey(world, of, body);
  },
  'an API key of an expiring one': async world => {
    const of = await member(world);
    const wanted = { name: name(), role: 'owner', expiration_date: later(world) };
    const { body: first } = await of.browser.post('/v1/api-keys', wanted);
    const second = await call(world, 'POST', '/v1/api-keys', { name: name(), role: 'owner' }, first.token);
    return { ...withApiKey(world, of, second.body), revoke: withApiKey(world, of, first).revoke };
  },
  'a command line': async world => {
    const maker = await commandLine(world, await member(world));
    world.service.clock.pass(5 * minute);
    return maker;
  },
  'an OAuth token': async world => {
    const of = await member(world);
    const { access_token } = await signedIn(world, {}, of.browser);
    const revoke = async () => {
      const { body } = await of.browser.get('/auth/oauth/grants');
      return of.browser.call('DELETE', `/auth/oauth/grants/${body.data[0].id}`);
    };
    return withAccessKey(world, of, access_token, revoke);
  },
  'a restricted access key': async world => {
    const of = await member(world);
    const wanted = { name: name(), vault_id: world.vaultId, expiration_date: later(world) };
    const { body } = await of.browser.post('/v1/access-keys', wanted);
    const { token } = await narrow(body.token, { names: ['TOKEN'] });
    return withAccessKey(world, of, token, () => world.owner.call('DELETE', `/v1/access-keys/${body.id}`));
  },
};

/** How a maker ends. */
export const ends: Readonly<Record<string, (world: World, maker: Maker) => Promise<unknown>>> = {
  expiry: async ({ service, owner }, { life }) => {
    service.clock.pass(life);
    await owner.signIn('owner@example.org'); // For the owner's own session may be over, too.
  },
  revocation: (_, { revoke }) => revoke(),
  'a change of the password': async (_, { member: { browser } }) => {
    await browser.prove();
    const changed = await browser.post('/auth/password/change', {
      current: password,
      password: `${password}!`,
    });
    assert.equal(changed.status, 200, changed.text);
  },
  'the removal of its member': ({ owner }, { member: { id } }) => owner.call('DELETE', `/v1/members/${id}`),
  'a new invitation of its member': ({ owner }, { member: { id } }) =>
    owner.post(`/v1/members/${id}/invitation`),
  'a new invitation that its member took': async ({ owner, service }, { member: { id } }) => {
    const { body } = await owner.post(`/v1/members/${id}/invitation`);
    const accepted = await service.browser().post('/auth/invitation/accept', { token: body.token, password });
    assert.equal(accepted.status, 200, accepted.text);
  },
};

/** What does not end a maker, and is meant not to. */
export const survives: Readonly<Record<string, string>> = {
  'a session: a change of the password': 'is the one that changed it',
  'an API key that expires: a change of the password':
    'is no sign-in: its person proved who they are for it, and revokes it by itself',
  'an API key that expires: a new invitation that its member took': 'is its member’s, who is one again',
  'an API key of an expiring one: a change of the password': 'ends with the one that made it, which goes on',
  'an API key of an expiring one: a new invitation that its member took':
    'ends with the one that made it, which goes on',
  'a restricted access key: a change of the password': 'comes of one that a person proved who they are for',
  'a restricted access key: the removal of its member': 'comes of an access key, which is the organization’s',
  'a restricted access key: a new invitation of its member':
    'comes of an access key, which is the organization’s',
  'a restricted access key: a new invitation that its member took':
    'comes of an access key, which is the organization’s',
};
