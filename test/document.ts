/** The OpenAPI document as the tests use it: its operations, validators for its schemas, and bodies from its examples. */
import assert from 'node:assert/strict';
import Ajv, { type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { once } from '../src/base/memo.ts';
import { authorityBody, profileBody } from './authorities-world.ts';
import type { Answer, Service } from './harness.ts';
import { issuerBody, startTarget } from './leases-world.ts';
import { Browser, password } from './people.ts';

export type Call = (method: string, path: string, body?: unknown) => Promise<Answer>;

// biome-ignore lint/suspicious/noExplicitAny: a document of every shape
export type Json = any;

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly value: Json;
}

export class Document {
  readonly value: Json;
  readonly #ajv: Ajv.default;

  constructor(value: Json) {
    this.value = value;
    this.#ajv = new Ajv.default({ strict: false, allErrors: true });
    addFormats.default(this.#ajv);
    this.#ajv.addSchema(closed(structuredClone(value)), 'document');
  }

  static async of(service: Service): Promise<Document> {
    return new Document((await service.call('GET', '/v1/openapi.json', undefined, null)).body);
  }

  operations(prefix = '/v1/'): Operation[] {
    return Object.entries(this.value.paths)
      .filter(([path]) => path.startsWith(prefix))
      .flatMap(([path, methods]) =>
        Object.entries(methods as Json).map(([method, value]) => ({
          method: method.toUpperCase(),
          path,
          value,
        })),
      );
  }

  /** What a schema within the document says is wrong with a value; empty where nothing is. */
  faults(pointer: readonly string[], value: unknown): string[] {
    const escaped = pointer.map(part => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
    const reference = `document#/${escaped.join('/')}`;
    const validate = (this.#ajv.getSchema(reference) ??
      this.#ajv.compile({ $ref: reference })) as ValidateFunction;
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  }

  answerFaults({ method, path, value }: Operation, status: number, type: string, body: unknown): string[] {
    const reference = value.responses[status]?.$ref as string | undefined;
    if (value.responses[status] === undefined) return [`${status} is not documented`];
    const answer =
      reference?.slice(2).split('/') ??
      (['paths', path, method.toLowerCase(), 'responses', String(status)] as const);
    const [media = ''] = type.split(';');
    return this.faults([...answer, 'content', media, 'schema'], body);
  }

  /** A schema of the document itself, where one stands there by its name alone. */
  resolve(schema: Json): Json {
    const reference = schema?.$ref as string | undefined;
    if (reference === undefined) return schema;
    return this.resolve(
      reference
        .slice(2)
        .split('/')
        .reduce((at, part) => at[part], this.value),
    );
  }

  requestSchema({ value }: Operation): Json {
    return this.resolve(value.requestBody?.content['application/json'].schema);
  }

  requestExample({ value }: Operation): Json {
    return value.requestBody?.content['application/json'].example;
  }
}

/** Objects that take no more members than they name, so that an answer with one too many is found. */
function closed(schema: Json): Json {
  if (Array.isArray(schema)) schema.forEach(closed);
  else if (typeof schema === 'object' && schema !== null) {
    if (schema.type === 'object' && schema.properties !== undefined) schema.additionalProperties ??= false;
    Object.values(schema).forEach(closed);
  }
  return schema;
}

/** What the examples refer to, made for real. */
export interface World {
  readonly vaultId: string;
  readonly identityId: string;
  readonly keyId: string;
  readonly secretId: string;
  readonly authorityId: string;
  readonly accessKeyId: string;
  /** A vault with review. */
  readonly reviewedId: string;
  /** Makes a proposal there, in the name of somebody whom no key leads to; where there is a service to sign in to. */
  proposal?: () => Promise<string>;
  /** Obtains a credential from a database that is there; where the service may reach it. */
  lease?: () => Promise<string>;
}

export async function makeWorld(call: Call): Promise<World> {
  const vault = await call('POST', '/v1/vaults', { name: unique('vault') });
  const key = await call('POST', '/v1/keys', {
    vault_id: vault.body.id,
    name: unique('key'),
    generate: { key_type: 'EC', curve: 'P-256' },
  });
  const secret = await call('POST', '/v1/secrets', {
    vault_id: vault.body.id,
    name: unique('secret'),
    value: 'used',
  });
  const hook = { url: 'https://hooks.invalid/strongroom', events: ['resource.expired'] };
  const webhook = await call('POST', '/v1/webhooks', hook);
  await call('POST', `/v1/webhooks/${webhook.body.id}/test`);
  const identity = await call('POST', '/v1/identities', {
    name: unique('identity'),
    method: 'secret_id',
    vault_ids: [vault.body.id],
    names_only: true,
  });
  const authority = await call('POST', '/v1/authorities', authorityBody(vault.body.id, unique('authority')));
  const accessKey = await call('POST', '/v1/access-keys', {
    vault_id: vault.body.id,
    name: unique('client'),
  });
  const reviewed = await call('POST', '/v1/vaults', { name: unique('reviewed'), review: true });
  return {
    reviewedId: reviewed.body.id,
    vaultId: vault.body.id,
    keyId: key.body.id,
    identityId: identity.body.id,
    authorityId: authority.body.id,
    accessKeyId: accessKey.body.id,
    secretId: secret.body.id,
  };
}

/** Reads the vault once, so that there is something in the request log. */
export async function readVault(service: Service, call: Call, world: World): Promise<void> {
  const { vaultId } = world;
  const { body } = await call('POST', '/v1/access-keys', { vault_id: vaultId, name: unique('reader') });
  const read = await service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, body.token);
  assert.equal(read.status, 200, read.text);
  await askForUse(service, call, world);
  world.proposal = await proposing(service, call, world);
  world.lease = leasing(service, call, world);
}

/** An access key that obtains credentials of a database of its own, for as long as they can live; made when it is needed. */
export function leasing(service: Service, call: Call, { vaultId }: World): () => Promise<string> {
  const holding = once(async () => {
    const target = await startTarget();
    await target.close();
    const issuer = await call('POST', '/v1/issuers', issuerBody(vaultId, unique('issuer'), target));
    assert.equal(issuer.status, 200, issuer.text);
    const { body } = await call('POST', '/v1/access-keys', { vault_id: vaultId, name: unique('holder') });
    return { name: issuer.body.name, key: body.token };
  });
  return async () => {
    const { name, key } = await holding();
    const given = await service.call('POST', `/api/v1/vaults/${vaultId}/leases`, { name, ttl: 86_400 }, key);
    assert.equal(given.status, 200, given.text);
    return given.body.lease.id as string;
  };
}

/** Somebody who joined, and proposes secrets. */
export async function proposing(service: Service, call: Call, { reviewedId: vault_id }: World) {
  const { body } = await call('POST', '/v1/members', {
    email: `${unique('author')}@example.org`,
    role: 'editor',
  });
  const author = new Browser(service.url);
  const joined = await author.post('/auth/invitation/accept', { token: body.token, password });
  assert.equal(joined.status, 200, joined.text);
  return async () => {
    const made = await author.post('/v1/secrets', { vault_id, name: unique('S'), value: 'proposed' });
    assert.equal(made.status, 202, made.text);
    return made.body.proposal.id as string;
  };
}

/** Asks for a call that somebody has to approve first, so that an approval waits. */
async function askForUse(service: Service, call: Call, { vaultId, secretId }: World): Promise<void> {
  const secret = await call('GET', `/v1/secrets/${secretId}`);
  await call('POST', '/v1/use-rules', {
    secret_id: secretId,
    name: unique('rule'),
    hosts: ['example.com'],
    methods: ['GET'],
    paths: ['/'],
    place: { type: 'bearer' },
    response: 'status-only',
  });
  const agent = { vault_id: vaultId, name: unique('agent'), names_only: true, may_use: true };
  const { token } = (await call('POST', '/v1/access-keys', agent)).body;
  const asked = { secret: secret.body.name, url: 'https://example.com/' };
  const waiting = await service.call('POST', `/api/v1/vaults/${vaultId}/use`, asked, token);
  assert.ok(waiting.body.approval, waiting.text);
}

/** A path whose id names something that the operation can be done to. */
export async function realPath(call: Call, document: Document, operation: Operation, world: World) {
  const { path, method } = operation;
  if (!path.includes('{id}')) return path;
  const collection = path.split('/{id}')[0]!;
  if (collection === '/v1/webhook-deliveries') return path.replace('{id}', await aDelivery(call));
  if (collection === '/v1/leases') return path.replace('{id}', await world.lease!());
  if (collection === '/v1/proposals') return path.replace('{id}', await world.proposal!());
  if (collection === '/v1/issued-certificates') return path.replace('{id}', await aCertificate(call, world));
  const make = document.operations().find(other => other.method === 'POST' && other.path === collection);
  if (make === undefined) return path.replace('{id}', await newestOf(call, collection, world));
  const body = realBody(document.requestExample(make), world);
  // Only such a secret has a code.
  if (path.endsWith('/code')) body.value = 'otpauth://totp/x?secret=GEZDGNBVGY3TQOJQ';
  // Only a key that never leaves can have an SSH profile, and only one with a profile is an authority.
  const isOfAuthority = /\/(ssh-[a-z-]+|krl)$/.test(path);
  if (isOfAuthority) body.exportable = false;
  // Only such a secret is rotated.
  if (path === '/v1/secrets/{id}/rotate') body.rotation = { every: '30d', by: { kind: 'random' } };
  const made = await call('POST', collection, body);
  assert.equal(made.status, 200, made.text);
  if (isOfAuthority)
    await call('PUT', `${collection}/${made.body.id}`, {
      ssh: { types: ['user'], principals: ['*'], max_valid_for: 3_600 },
    });
  if (method === 'POST' && path.endsWith('/restore')) await call('DELETE', `${collection}/${made.body.id}`);
  return path.replace('{id}', made.body.id);
}

/** To a port of this machine at which nobody listens. */
const nobodysUrl = 'https://127.0.0.1:2/hook';
const nobodysDatabase = 'postgres://admin:password@127.0.0.1:2/app';

async function aDelivery(call: Call): Promise<string> {
  const webhook = await call('POST', '/v1/webhooks', { url: nobodysUrl, events: ['resource.expired'] });
  return (await call('POST', `/v1/webhooks/${webhook.body.id}/test`)).body.id;
}

async function aCertificate(call: Call, { authorityId }: World): Promise<string> {
  const profile = await call('POST', '/v1/profiles', profileBody(authorityId, unique('profile')));
  const names = ['api.internal.example'];
  return (await call('POST', `/v1/profiles/${profile.body.id}/issue`, { names })).body.id;
}

async function newestOf(call: Call, collection: string, { vaultId }: World): Promise<string> {
  const narrowed =
    collection === '/v1/request-logs'
      ? `?vault_id=${vaultId}`
      : collection === '/v1/approvals'
        ? `?state=all&vault_id=${vaultId}`
        : '';
  return (await call('GET', `${collection}${narrowed}`)).body.data[0].id;
}

let made = 0;
export function unique(text: string): string {
  made += 1;
  return `${text}-${made}`;
}

/** An example as it can be sent: its ids name what exists, its names nothing that does. */
export function realBody(example: Json, world: World): Json {
  if (Array.isArray(example)) return example.map(item => realBody(item, world));
  if (typeof example !== 'object' || example === null) return example;
  return Object.fromEntries(
    Object.entries(example).map(([name, value]) => [name, realMember(name, value, world)]),
  );
}

function realMember(name: string, value: unknown, world: World): unknown {
  if (name === 'vault_id') return world.vaultId;
  if (name === 'key_id') return world.keyId;
  if (name === 'secret_ids') return [world.secretId];
  if (name === 'access_key_id') return world.accessKeyId;
  if (name === 'authority_id') return world.authorityId;
  if (name === 'identity_id') return world.identityId;
  if (name === 'secret_id') return world.secretId;
  if (name === 'url') return String(value).startsWith('postgres') ? nobodysDatabase : nobodysUrl;
  if (name === 'vault_ids') return [world.vaultId];
  if (name === 'name') return unique(String(value));
  if (name === 'url') return 'https://hooks.invalid/strongroom'; // A name that leads nowhere, by its own standard.
  if (name === 'email') return `${unique('ada')}@example.com`;
  return realBody(value, world);
}
