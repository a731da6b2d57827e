/**
 * Nobody gives or gains what they could not read themselves. Facts are marked by texts that stand nowhere else; what a
 * credential reads is found by asking every surface that takes it and looking for the marks. Every scope alone, and
 * each of several together, tries every way to mint, rename and register: what comes of it shows no more than that.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { scopeNames } from '../src/contract/access.ts';
import { eventKinds } from '../src/contract/names.ts';
import { atOnce } from './at-once.ts';
import { type Json, unique } from './document.ts';
import { type Answer, type Service, startService } from './harness.ts';
import vectors from './vectors/material.json' with { type: 'json' };

type Scope = (typeof scopeNames)[number];
type Facts = ReadonlySet<string>;

interface Minted {
  readonly what: string;
  readonly seen: Facts;
}

const hour = 3_600_000;

describe('what is given away', () => {
  let service: Service;
  let vaultId: string;
  let secretId: string;
  let keyId: string;
  let certificateId: string;
  /** What a fact is called, and the text that shows it. */
  let marks: Readonly<Record<string, string>>;

  before(async () => {
    service = await startService();
    vaultId = (await ok('POST', '/v1/vaults', { name: 'vault-mark' })).id;
    const tags = (name: string) => ({ [`${name}-tag-mark`]: 'x' });
    const secret = { vault_id: vaultId, name: 'secret-mark', value: 'value-mark', tags: tags('secret') };
    secretId = (await ok('POST', '/v1/secrets', secret)).id;
    const generate = { key_type: 'EC', curve: 'P-256' };
    const key = { vault_id: vaultId, name: 'key-mark', generate, tags: tags('key') };
    keyId = (await ok('POST', '/v1/keys', key)).id;
    const pem = vectors.pem.leaf;
    const certificate = { vault_id: vaultId, name: 'certificate-mark', pem, tags: tags('certificate') };
    certificateId = (await ok('POST', '/v1/certificates', certificate)).id;
    const shown = await ok('POST', `/v1/keys/${keyId}/reveal`);
    marks = {
      vault: 'vault-mark',
      secret: 'secret-mark',
      value: 'value-mark',
      'secret tag': 'secret-tag-mark',
      key: 'key-mark',
      'private half': lineOf(shown.pem),
      'public half': lineOf(shown.public_pem),
      'key tag': 'key-tag-mark',
      certificate: 'certificate-mark',
      'certificate itself': lineOf(pem),
      'certificate tag': 'certificate-tag-mark',
    };
  });
  after(() => service.stop());

  async function ok(method: string, path: string, body?: unknown, key?: string): Promise<Json> {
    const answer = await service.call(method, path, body, key ?? service.key);
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    return answer.body;
  }

  const apiKey = (scopes: readonly Scope[] | null, more: object = {}, by?: string): Promise<Json> =>
    ok('POST', '/v1/api-keys', { name: unique('key'), role: 'owner', scopes, ...more }, by);

  function factsIn(texts: readonly string[]): Facts {
    // An answer in JSON writes a line break as two characters; no mark holds one.
    return new Set(Object.keys(marks).filter(name => texts.some(text => text.includes(marks[name]!))));
  }

  /** By every GET that is registered, with ids of each type, and by the reveals. */
  async function readByApiKey(key: string): Promise<Facts> {
    const ids = [vaultId, secretId, keyId, certificateId];
    const gets = [...service.routes]
      .filter(route => /^GET \/v1\//.test(route) && !/health|openapi/.test(route))
      .map(route => route.slice('GET '.length));
    const paths = gets.flatMap(path =>
      path.includes(':id') ? ids.map(id => path.replace(':id', id)) : [path],
    );
    const texts = await Promise.all(paths.map(path => textOf('GET', path, key)));
    texts.push(await textOf('POST', `/v1/secrets/${secretId}/reveal`, key));
    texts.push(await textOf('POST', `/v1/keys/${keyId}/reveal`, key));
    texts.push(...(await readInDialect(key, [vaultId, 'vault-mark'])));
    return factsIn(texts);
  }

  async function textOf(method: string, path: string, key: string, body?: unknown): Promise<string> {
    const answer = await service.call(method, path, body, key);
    return answer.status === 200 ? answer.text : '';
  }

  /** By all that can be read in Vault's dialect. */
  function readInDialect(key: string, mounts: readonly string[]): Promise<string[]> {
    const ofMount = (mount: string) => [
      ...['data', 'metadata', 'subkeys'].map(verb => `${mount}/${verb}/secret-mark`),
      `${mount}/metadata/?list=true`,
      `${mount}/data/_all`,
      `${mount}/config`,
    ];
    const paths = ['auth/token/lookup-self', ...mounts.flatMap(ofMount)];
    return Promise.all(paths.map(path => textOf('GET', `/vault/v1/${path}`, key)));
  }

  const wholeVault = '?include=keys,certificates';

  async function readByAccessKey(key: string): Promise<Facts> {
    const queries = [wholeVault, '', ...[secretId, keyId, certificateId].map(id => `?resource=${id}`)];
    const texts = await Promise.all(
      queries.map(query => textOf('GET', `/api/v1/vaults/${vaultId}${query}`, key)),
    );
    const tools: [string, object][] = [
      ['vault.describe', {}],
      ['secrets.list', { namesOnly: false }],
      ['secrets.get', { name: 'secret-mark', includeValue: true }],
      ['secrets.get', { name: 'secret-mark' }],
      ['secrets.search', { name: 'mark' }],
      ['secrets.search', { tag: 'secret-tag-mark' }],
      ['keys.list', {}],
      ['keys.get', { id: keyId }],
      ['keys.get', { id: keyId, preferPublic: true }],
      ['certificates.list', {}],
      ['certificates.get', { id: certificateId }],
    ];
    texts.push(...(await readInDialect(key, ['secret', vaultId])));
    const session = await toolSession();
    for (const [name, given] of tools) texts.push(await toolText(name, given, key, session));
    return factsIn(texts);
  }

  async function toolSession(): Promise<Record<string, string>> {
    const opened = await service.call('POST', '/mcp', { method: 'initialize' }, null);
    return { 'mcp-session-id': opened.headers.get('mcp-session-id')! };
  }

  async function toolText(
    name: string,
    given: object,
    key: string | null,
    session: Record<string, string>,
  ): Promise<string> {
    const call = { method: 'tools/call', params: { name, arguments: given } };
    return (await service.call('POST', '/mcp', call, key, session)).text;
  }

  function assertWithin(seen: Facts, maker: Facts, what: string): void {
    assert.deepEqual(
      [...seen].filter(fact => !maker.has(fact)),
      [],
      what,
    );
  }

  const narrowings: object[] = [
    {},
    { names_only: true },
    { kinds: ['secret'] },
    { kinds: ['key'] },
    { kinds: ['certificate'] },
    { kinds: ['secret'], names_only: true },
    { kinds: ['key'], names_only: true },
    { kinds: ['certificate'], names_only: true },
    { names: ['secret-*'] },
  ];

  /** All but API keys that a caller can mint, and what it then reads. */
  async function mintAll(key: string): Promise<Minted[]> {
    const minted: Minted[] = [];
    for (const narrowing of narrowings) {
      const body = { name: unique('key'), vault_id: vaultId, ...narrowing };
      const made = await service.call('POST', '/v1/access-keys', body, key);
      const what = `an access key ${JSON.stringify(narrowing)}`;
      if (made.status === 200) minted.push({ what, seen: await readByAccessKey(made.body.token) });
    }
    const token = await service.call('POST', '/v1/public-tokens', { key_id: keyId }, key);
    if (token.status === 200) {
      const text = await toolText('keys.get', { code: token.body.token }, null, await toolSession());
      minted.push({ what: 'a public token', seen: factsIn([text]) });
    }
    const request = { subject: 'CN=x' };
    const signed = await textOf('POST', `/v1/keys/${keyId}/signing-request`, key, request);
    if (signed !== '') minted.push({ what: 'a signing request', seen: new Set(['public half']) });
    return minted;
  }

  async function mintApiKeys(key: string): Promise<Minted[]> {
    const minted: Minted[] = [];
    for (const scopes of [null, ...scopeNames.map(scope => [scope])]) {
      const body = { name: unique('key'), role: 'owner', scopes };
      const made = await service.call('POST', '/v1/api-keys', body, key);
      if (made.status !== 200) continue;
      minted.push({ what: `an API key ${scopes}`, seen: await readByApiKey(made.body.token) });
    }
    return minted;
  }

  /** The scopes of what can be minted alone, with each of the others. */
  const makers: Scope[][] = [
    ...scopeNames.map(scope => [scope]),
    ...(['access-keys:write', 'public-tokens:write', 'certificates:write'] as const).flatMap(mint =>
      scopeNames.filter(scope => scope !== mint).map(scope => [mint, scope]),
    ),
    ['access-keys:write', 'vaults:read', 'secrets:read'],
    ['access-keys:write', 'vaults:read', 'secrets:reveal'],
    ['access-keys:write', 'vaults:read', 'secrets:read', 'secrets:reveal'],
    ['access-keys:write', 'vaults:read', 'keys:read'],
    ['access-keys:write', 'vaults:read', 'keys:read', 'keys:reveal'],
    ['access-keys:write', 'vaults:read', 'certificates:read'],
    ['access-keys:write', 'vaults:read', 'secrets:read', 'keys:read', 'certificates:read'],
    [...scopeNames],
  ];

  it('what is minted reads no more than its maker, whatever scopes that has', async () => {
    let minted = 0;
    await atOnce(makers, async scopes => {
      const { token } = await apiKey(scopes);
      const keys = scopes.includes('api-keys:write') ? await mintApiKeys(token) : [];
      const made = [...(await mintAll(token)), ...keys];
      const own = made.length === 0 ? new Set<string>() : await readByApiKey(token);
      for (const { what, seen } of made) assertWithin(seen, own, `${what}, by ${scopes}`);
      minted += made.length;
    });
    assert.ok(minted > 30, 'something was minted');
  });

  it('a key that reads everything finds every fact, so that none is looked for in vain', async () => {
    const all = new Set(Object.keys(marks));
    assert.deepEqual(await readByApiKey(service.key), all);
    const { token } = await ok('POST', '/v1/access-keys', { name: unique('key'), vault_id: vaultId });
    assert.deepEqual(await readByAccessKey(token), all);
  });

  it('`access-keys:write` alone mints nothing; with the reads of a kind, keys for the names of that kind', async () => {
    const make = async (scopes: Scope[], narrowing: object) => {
      const { token } = await apiKey(scopes);
      const body = { name: unique('key'), vault_id: vaultId, ...narrowing };
      return (await service.call('POST', '/v1/access-keys', body, token)).status;
    };
    for (const narrowing of narrowings) assert.equal(await make(['access-keys:write'], narrowing), 403);
    const names = { kinds: ['secret'], names_only: true };
    assert.equal(await make(['access-keys:write', 'vaults:read', 'secrets:read'], names), 200);
    assert.equal(
      await make(['access-keys:write', 'vaults:read', 'secrets:read'], { kinds: ['secret'] }),
      403,
    );
    // A reveal shows what one knows of; a list tells what there is.
    assert.equal(
      await make(['access-keys:write', 'vaults:read', 'secrets:reveal'], { kinds: ['secret'] }),
      403,
    );
    assert.equal(await make(['access-keys:write', 'vaults:read'], { kinds: ['certificate'] }), 403);
  });

  it('a change to a key’s narrowing is a mint, and so is a longer life', async () => {
    const key = await ok('POST', '/v1/access-keys', {
      name: unique('key'),
      vault_id: vaultId,
      names_only: true,
    });
    const reads: Scope[] = ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'];
    const { token } = await apiKey(['access-keys:write', ...reads]);
    const change = (path: string, body: object, by = token) => service.call('PUT', path, body, by);
    assert.equal((await change(`/v1/access-keys/${key.id}`, { names_only: false })).status, 403);
    assert.equal((await change(`/v1/access-keys/${key.id}`, { kinds: ['key'] })).status, 200);
    const whole = await ok('POST', '/v1/access-keys', { name: unique('key'), vault_id: vaultId });
    assert.equal((await change(`/v1/access-keys/${whole.id}`, { expiration_date: null })).status, 403);
    const pub = await ok('POST', '/v1/public-tokens', { key_id: keyId });
    const publisher = await apiKey(['public-tokens:write']);
    const longer = { expiration_date: null };
    assert.equal((await change(`/v1/public-tokens/${pub.id}`, longer, publisher.token)).status, 403);
  });

  it('what a key makes ends with it, and it prolongs neither itself nor another', async () => {
    const moment = new Date(Date.now() + hour).toISOString();
    const later = new Date(Date.now() + 2 * hour).toISOString();
    const { id, token } = await apiKey(null, { expiration_date: moment });
    const bodies: [string, object][] = [
      ['/v1/api-keys', { name: unique('key'), role: 'viewer' }],
      ['/v1/access-keys', { name: unique('key'), vault_id: vaultId }],
      ['/v1/public-tokens', { key_id: keyId }],
    ];
    for (const [path, body] of bodies) {
      const made = await ok('POST', path, body, token);
      assert.equal(made.expiration_date, moment, path);
      for (const expiration_date of [later, null]) {
        const longer = await service.call('POST', path, { ...body, expiration_date }, token);
        assert.equal(longer.status, 403, path);
        const prolonged = await service.call('PUT', `${path}/${made.id}`, { expiration_date }, token);
        assert.equal(prolonged.status, 403, path);
      }
      await ok('PUT', `${path}/${made.id}`, { name: unique('renamed') }, token);
    }
    const itself = await service.call('PUT', `/v1/api-keys/${id}`, { expiration_date: null }, token);
    assert.equal(itself.status, 403);
    const member = { email: `${unique('p')}@example.org`, role: 'viewer' };
    assert.equal((await service.call('POST', '/v1/members', member, token)).status, 403);
  });

  it('renaming into what a narrowed key sees takes the permission to read it', async () => {
    for (const [type, reveal, more] of [
      ['secret', 'secrets:reveal', { value: 'hidden' }],
      ['key', 'keys:reveal', { generate: { key_type: 'EC', curve: 'P-256' } }],
      ['certificate', 'certificates:read', { pem: vectors.pem.leaf }],
    ] as const) {
      const collection = `/v1/${type}s`;
      const pattern = `${unique('seen')}-*`;
      const names = pattern.slice(0, -1);
      const make = (name: string) => ok('POST', collection, { vault_id: vaultId, name, ...more });
      const hidden = (await make(unique('hidden'))).id;
      const rename = async (scopes: Scope[], id: string, name: string) => {
        const { token } = await apiKey(scopes);
        const answers = [
          await service.call('PUT', `${collection}/${id}`, { name }, token),
          await service.call('PUT', `/v1/resources/${id}`, { name }, token),
        ];
        assert.equal(answers[0]!.status, answers[1]!.status);
        return answers[0]!.status;
      };
      const write = `${type}s:write` as const;
      const narrowed = { name: unique('key'), vault_id: vaultId, names: [pattern] };
      const key = await ok('POST', '/v1/access-keys', narrowed);
      assert.equal(await rename([write], hidden, `${names}a`), 403, type);
      assert.equal(await rename([write], hidden, unique('elsewhere')), 200, 'other names are free');
      const inside = (await make(`${names}inside`)).id;
      assert.equal(await rename([write], inside, `${names}still`), 200, 'what it sees already it may see');
      assert.equal(await rename([write, reveal], hidden, `${names}b`), 200, type);
      await ok('PUT', `${collection}/${hidden}`, { name: unique('hidden') });
      await ok('DELETE', `/v1/access-keys/${key.id}`);
      assert.equal(await rename([write], hidden, `${names}c`), 200, 'a revoked key sees nothing');
      await ok('PUT', `${collection}/${hidden}`, { name: unique('hidden') });
      const forNames = { ...narrowed, name: unique('key'), names_only: true };
      const listing = await ok('POST', '/v1/access-keys', forNames);
      assert.equal(await rename([write], hidden, `${names}d`), 200, 'its name is all that it sees');
      await ok('PUT', `${collection}/${hidden}`, { name: unique('hidden') });
      await ok('PUT', `/v1/access-keys/${listing.id}`, { may_use: true });
      assert.equal(await rename([write], hidden, `${names}e`), 403, 'it may use what it doesn’t see');
      await ok('DELETE', `/v1/access-keys/${listing.id}`);
    }
  });

  it('whatever shows a value anew to access keys that are there takes the permission to read it', async () => {
    const vault = await ok('POST', '/v1/vaults', { name: unique('vault') });
    const at = (days: number) => new Date(service.clock.now() + days * 86_400_000).toISOString();
    const nameOf = new Map<string, string>();
    const secret = async () => {
      const body = { vault_id: vault.id, name: unique('secret'), value: 'first' };
      const made = await ok('POST', '/v1/secrets', body);
      nameOf.set(made.id, made.name);
      return made;
    };
    const key = await ok('POST', '/v1/access-keys', { vault_id: vault.id, name: unique('key') });
    const put = (body: object) => (id: string, token?: string) =>
      service.call('PUT', `/v1/secrets/${id}`, body, token);
    const restore = (id: string, token?: string) =>
      service.call('POST', `/v1/resources/${id}/restore`, undefined, token);
    interface Way {
      before(id: string): Promise<unknown>;
      change(id: string, token?: string): Promise<Answer>;
    }
    const ways: Record<string, Way> = {
      'enabling it': { before: put({ enabled: false }), change: put({ enabled: true }) },
      'an earlier activation': {
        before: put({ activation_date: at(2) }),
        change: put({ activation_date: at(1) }),
      },
      'no activation date': {
        before: put({ activation_date: at(2) }),
        change: put({ activation_date: null }),
      },
      'a later expiration, once it expired': {
        before: async id => {
          await put({ expiration_date: at(1) })(id);
          service.clock.pass(2 * 86_400_000);
        },
        change: put({ expiration_date: null }),
      },
      'restoring it': { before: id => ok('DELETE', `/v1/secrets/${id}`), change: restore },
      'rolling it back': {
        before: put({ value: 'second' }),
        change: (id, token) => service.call('POST', `/v1/secrets/${id}/rollback`, { version: 1 }, token),
      },
      'restoring it in Vault’s dialect': {
        before: id => ok('DELETE', `/v1/secrets/${id}`),
        change: (id, token = '') => {
          const path = `/vault/v1/${vault.name}/undelete/${nameOf.get(id)}`;
          return service.call('POST', path, { versions: [1] }, null, { 'x-vault-token': token });
        },
      },
      'restoring its vault': {
        before: () => ok('DELETE', `/v1/vaults/${vault.id}`),
        change: (_, token) => restore(vault.id, token),
      },
    };
    const all = scopeNames.filter(scope => /^(vaults|secrets|keys|certificates):(read|write)$/.test(scope));
    const writer = await apiKey(all);
    const reader = await apiKey([...all, 'secrets:reveal', 'keys:reveal']);
    for (const [way, { before, change }] of Object.entries(ways)) {
      const { id } = await secret();
      await before(id);
      const refused = await change(id, writer.token);
      assert.equal(refused.status, 403, way);
      assert.match(refused.text, /Existing access keys could then read what you may not read yourself/, way);
      const done = await change(id, reader.token);
      assert.ok(done.status === 200 || done.status === 204, `${way}: ${done.text}`);
    }
    const { id } = await secret();
    await put({ enabled: false })(id);
    const own = put({ enabled: true, value: 'the writer’s own' });
    assert.equal((await own(id, writer.token)).status, 200, 'what the writer brings');
    assert.equal(
      (await put({ expiration_date: at(9) })(id, writer.token)).status,
      200,
      'what can be read already',
    );
    await put({ enabled: false })(id);
    await ok('DELETE', `/v1/access-keys/${key.id}`);
    assert.equal((await put({ enabled: true })(id, writer.token)).status, 200, 'a revoked key sees nothing');
  });

  it('a key for names only sees ids and names, of whatever kind', async () => {
    const body = { name: unique('key'), vault_id: vaultId, names_only: true };
    const { token } = await ok('POST', '/v1/access-keys', body);
    const read = await ok('GET', `/api/v1/vaults/${vaultId}${wholeVault}`, undefined, token);
    for (const item of [...read.secrets, ...read.keys, ...read.certificates]) {
      assert.deepEqual(Object.keys(item), ['id', 'name']);
    }
    assert.ok(read.keys.length > 0 && read.certificates.length > 0);
    const seen = await readByAccessKey(token);
    assert.deepEqual(seen, new Set(['vault', 'secret', 'key', 'certificate']));
  });

  it('`organization:read` alone sees no count; each count takes the read of what is counted', async () => {
    const { token } = await apiKey(['organization:read']);
    const overview = await ok('GET', '/v1/overview', undefined, token);
    assert.deepEqual(overview.counts, { vaults: 0, secrets: 0, keys: 0, certificates: 0 });
    assert.deepEqual(overview.webhooks, { total: 0, failing: 0, disabled: 0 });
    const whole = await ok('GET', '/v1/overview');
    for (const type of ['vaults', 'secrets', 'keys', 'certificates'] as const) {
      const reader = await apiKey(['organization:read', `${type}:read`]);
      const { counts } = await ok('GET', '/v1/overview', undefined, reader.token);
      assert.ok(whole.counts[type] > 0);
      assert.equal(counts[type], whole.counts[type]);
      const others = Object.entries(counts).filter(([name]) => name !== type);
      assert.ok(others.every(([, count]) => count === 0));
    }
  });

  it('the overview of one who reads logs alone names nothing that only its own permission names', async () => {
    const { token: reader } = await ok('POST', '/v1/access-keys', { name: 'reader-mark', vault_id: vaultId });
    await ok('GET', `/api/v1/vaults/${vaultId}`, undefined, reader);
    const { token } = await apiKey(['organization:read', 'logs:read']);
    const answer = await service.call('GET', '/v1/overview', undefined, token);
    assert.ok(answer.body.busiest_vaults.length > 0);
    assert.doesNotMatch(answer.text, /vault-mark|reader-mark/);
    const { vault_ids, token: narrowed } = await apiKey(['logs:read'], { vault_ids: [vaultId] });
    assert.deepEqual(vault_ids, [vaultId]);
    const { entries } = await ok('GET', '/v1/audit-logs/verification', undefined, narrowed);
    assert.deepEqual(entries, { request: 0, audit: 0 });
  });

  it('a webhook is told of what its maker may read', async () => {
    const hook = (events: readonly string[]) => ({ url: 'https://127.0.0.1:2/hook', events });
    const reads: Scope[] = ['vaults:read', 'secrets:read', 'keys:read', 'certificates:read'];
    const neededFor: Record<string, Scope[]> = {
      resource: reads,
      access_key: ['access-keys:read'],
      approval: ['approvals:read'],
      stage: ['vaults:read', 'secrets:read'],
      proposal: ['proposals:read', ...reads],
      role: ['members:read'],
      lease: ['leases:read'],
      run: ['runs:read'],
      secret: ['vaults:read', 'secrets:read'],
      rotation: ['vaults:read', 'secrets:read'],
      webhook: ['webhooks:read'],
    };
    for (const event of eventKinds) {
      const needed = neededFor[event.split('.')[0]!]!;
      const { token } = await apiKey(['webhooks:write', ...needed]);
      const { id } = await ok('POST', '/v1/webhooks', hook([event]), token);
      for (const missing of needed) {
        const scopes = scopeNames.filter(scope => scope !== missing);
        const { token: less } = await apiKey(scopes);
        const made = await service.call('POST', '/v1/webhooks', hook([event]), less);
        assert.equal(made.status, 403, `${event} without ${missing}`);
        const moved = await service.call('PUT', `/v1/webhooks/${id}`, { url: 'https://127.0.0.1:8/' }, less);
        assert.equal(moved.status, 403, `${event} moved without ${missing}`);
      }
    }
  });

  it('whether a key fits a certificate is told to those who may see the key', async () => {
    const { token } = await apiKey(['certificates:write']);
    const body = { vault_id: vaultId, name: unique('c'), pem: vectors.pem.leaf, key_id: keyId };
    assert.equal((await service.call('POST', '/v1/certificates', body, token)).status, 403);
    const change = { key_id: keyId };
    const path = `/v1/certificates/${certificateId}`;
    assert.equal((await service.call('PUT', path, change, token)).status, 403);
  });

  it('such a refusal is written to the audit log', async () => {
    const { id, token } = await apiKey(['access-keys:write', 'vaults:read']);
    await service.call('POST', '/v1/access-keys', { name: 'x', vault_id: vaultId }, token);
    const { data } = await ok('GET', '/v1/audit-logs?limit=5');
    const entry = data.find((one: Json) => one.actor.id === id);
    assert.deepEqual([entry.outcome, entry.action], ['denied', 'secrets:read']);
  });
});

/** A line of a PEM that stands in no other. */
function lineOf(pem: string): string {
  return pem.split('\n').at(-3)!;
}
