/** Bad input: 400, the field and a reason to act on; nothing stored, and nothing of what was sent repeated. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { bits, ids, int, oid, pem, seq } from './der-build.ts';
import type { Json } from './document.ts';
import { type Answer, engines, type Service, startService } from './harness.ts';
import vectors from './vectors/material.json' with { type: 'json' };
import { type Animal, zoo } from './zoo.ts';

const { pem: files } = vectors;
/** Stands in what is sent, and must stand in no answer. */
const mark = 'CORRECT-HORSE-BATTERY';

interface World {
  readonly vaultId: string;
  readonly secretId: string;
  readonly keyId: string;
}

type Case = [
  name: string,
  method: string,
  path: string,
  body: Json | ((world: World) => Json),
  field: string,
  reason: RegExp,
];

const secret = (more: object) => (world: World) => ({
  vault_id: world.vaultId,
  name: 'x',
  value: mark,
  ...more,
});
const key = (more: object) => (world: World) => ({ vault_id: world.vaultId, name: 'x', ...more });
const rsa = (size: number) =>
  pem(
    'PUBLIC KEY',
    seq(seq(oid(ids.rsa), Buffer.from([5, 0])), bits(seq(int((1n << BigInt(size - 1)) + 1n), int(65537)))),
  );
const tags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, 'x']));

const bodies: Case[] = [
  ['a missing member', 'POST', '/v1/vaults', {}, 'name', /required/],
  [
    'a missing value',
    'POST',
    '/v1/secrets',
    ({ vaultId }: World) => ({ vault_id: vaultId, name: 'x' }),
    'value',
    /required/,
  ],
  ['an unknown member', 'POST', '/v1/vaults', { name: 'x', colour: mark }, 'colour', /not a member/],
  [
    'an unknown member further in',
    'POST',
    '/v1/keys',
    key({ generate: { key_type: 'EC', curve: 'P-256', speed: 9 } }),
    'generate.speed',
    /not a member/,
  ],
  ['a body where none belongs', 'POST', '/v1/keys/{key}/reveal', { version: 1 }, 'version', /not a member/],
  ['a body that is a list', 'POST', '/v1/vaults', [mark], '', /must be an object/],
  ['a body that is a string', 'POST', '/v1/vaults', `"${mark}"`, '', /must be an object/],
  ['a body that is null', 'POST', '/v1/vaults', 'null', '', /must be an object/],
  ['no body', 'POST', '/v1/vaults', undefined, '', /must be an object/],
  ['a number for a name', 'POST', '/v1/vaults', { name: 5 }, 'name', /must be a string/],
  ['an object for a name', 'POST', '/v1/vaults', { name: { $gt: '' } }, 'name', /must be a string/],
  ['a string for a flag', 'POST', '/v1/secrets', secret({ enabled: 'true' }), 'enabled', /true or false/],
  ['a number for a value', 'POST', '/v1/secrets', secret({ value: 1 }), 'value', /must be a string/],
  [
    'an id that is none',
    'POST',
    '/v1/secrets',
    { vault_id: mark, name: 'x', value: 'x' },
    'vault_id',
    /UUID/,
  ],
  [
    'an id in capitals',
    'POST',
    '/v1/secrets',
    ({ vaultId }: World) => ({ vault_id: vaultId.toUpperCase(), name: 'x', value: 'x' }),
    'vault_id',
    /lower case/,
  ],
  ['an empty name', 'POST', '/v1/vaults', { name: '' }, 'name', /1 to 255/],
  ['a name of 256 characters', 'POST', '/v1/vaults', { name: 'x'.repeat(256) }, 'name', /1 to 255/],
  ['a control character', 'POST', '/v1/vaults', { name: `${mark}\u0007` }, 'name', /control/],
  ['NUL', 'POST', '/v1/vaults', { name: `${mark}\u0000` }, 'name', /control/],
  ['a line break', 'POST', '/v1/vaults', { name: `${mark}\n` }, 'name', /control/],
  ['a bidirectional override', 'POST', '/v1/vaults', { name: `${mark}\u202E` }, 'name', /bidirectional/],
  ['a lone surrogate in a name', 'POST', '/v1/vaults', `{"name":"${mark}\\ud800"}`, 'name', /surrogate/],
  [
    'a lone surrogate in a value',
    'POST',
    '/v1/secrets',
    ({ vaultId }: World) => `{"vault_id":"${vaultId}","name":"x","value":"${mark}\\udfff"}`,
    'value',
    /surrogate/,
  ],
  [
    '__proto__',
    'POST',
    '/v1/vaults',
    `{"name":"x","__proto__":{"role":"${mark}"}}`,
    '__proto__',
    /not a member/,
  ],
  [
    '__proto__ in escapes',
    'POST',
    '/v1/vaults',
    `{"name":"x","\\u005f_proto__":{"a":1}}`,
    '__proto__',
    /not a member/,
  ],
  [
    '__proto__ in tags',
    'POST',
    '/v1/vaults',
    `{"name":"x","tags":{"__proto__":"x"}}`,
    '__proto__',
    /not a member/,
  ],
  [
    'constructor',
    'POST',
    '/v1/vaults',
    `{"name":"x","constructor":{"prototype":{}}}`,
    'constructor',
    /not a member/,
  ],
  ['the same member twice', 'POST', '/v1/vaults', `{"name":"x","name":"${mark}"}`, 'name', /once/],
  [
    'the same member twice, in escapes',
    'POST',
    '/v1/vaults',
    `{"name":"x","\\u006eame":"${mark}"}`,
    'name',
    /once/,
  ],
  [
    'nesting over 32 levels',
    'POST',
    '/v1/vaults',
    `{"name":${'['.repeat(40)}${']'.repeat(40)}}`,
    '',
    /32 levels/,
  ],
  ['nesting of 100,000 levels', 'POST', '/v1/vaults', '['.repeat(100_000), '', /32 levels/],
  ['broken JSON', 'POST', '/v1/vaults', `{"name":"${mark}"`, '', /valid JSON/],
  ['a trailing comma', 'POST', '/v1/vaults', `{"name":"${mark}",}`, '', /valid JSON/],
  ['two documents', 'POST', '/v1/vaults', `{"name":"${mark}"}{}`, '', /valid JSON/],
  [
    'a date that is none',
    'POST',
    '/v1/secrets',
    secret({ expiration_date: mark }),
    'expiration_date',
    /ISO 8601/,
  ],
  [
    'a day that is none',
    'POST',
    '/v1/secrets',
    secret({ expiration_date: '2027-02-30T00:00:00Z' }),
    'expiration_date',
    /ISO 8601/,
  ],
  [
    'a date without a zone',
    'POST',
    '/v1/secrets',
    secret({ expiration_date: '2027-02-03T00:00:00' }),
    'expiration_date',
    /zone/,
  ],
  [
    'a number for a date',
    'POST',
    '/v1/secrets',
    secret({ expiration_date: 1893456000 }),
    'expiration_date',
    /must be a string/,
  ],
  [
    'a date beyond all dates',
    'POST',
    '/v1/secrets',
    secret({ expiration_date: '+275760-09-13T00:00:00Z' }),
    'expiration_date',
    /ISO 8601/,
  ],
  [
    'dates in the wrong order',
    'POST',
    '/v1/secrets',
    secret({ activation_date: '2027-02-02T00:00:00Z', expiration_date: '2027-02-01T00:00:00Z' }),
    'expiration_date',
    /later/,
  ],
  [
    'dates in the wrong order, one after the other',
    'PUT',
    '/v1/secrets/{secret}',
    { activation_date: '2099-01-01T00:00:00Z' },
    'expiration_date',
    /later/,
  ],
  ['16 tags', 'POST', '/v1/vaults', { name: 'x', tags: tags(16) }, 'tags', /15 tags/],
  [
    'a tag name of 129 characters',
    'POST',
    '/v1/vaults',
    { name: 'x', tags: { ['x'.repeat(129)]: 'x' } },
    'tags',
    /1 to 128/,
  ],
  [
    'a tag value of 257 characters',
    'POST',
    '/v1/vaults',
    { name: 'x', tags: { a: 'x'.repeat(257) } },
    'tags.a',
    /0 to 256/,
  ],
  [
    'a tag that is no string',
    'POST',
    '/v1/vaults',
    { name: 'x', tags: { a: 1 } },
    'tags.a',
    /must be a string/,
  ],
  ['tags in a list', 'POST', '/v1/vaults', { name: 'x', tags: ['a'] }, 'tags', /object of strings/],
  ['a value over 64 KiB', 'POST', '/v1/secrets', secret({ value: 'x'.repeat(65_537) }), 'value', /65536/],
  [
    'a content type of 256 characters',
    'POST',
    '/v1/secrets',
    secret({ content_type: 'x'.repeat(256) }),
    'content_type',
    /1 to 255/,
  ],
  [
    'a version that is none',
    'POST',
    '/v1/secrets/{secret}/rollback',
    { version: 0 },
    'version',
    /whole number from 1/,
  ],
  [
    'a version with a fraction',
    'POST',
    '/v1/secrets/{secret}/reveal',
    { version: 1.5 },
    'version',
    /whole number/,
  ],
  [
    'a version beyond four bytes',
    'POST',
    '/v1/secrets/{secret}/reveal',
    { version: 4294967296 },
    'version',
    /whole number/,
  ],
  [
    'a type that is none',
    'POST',
    '/v1/resources',
    { type: mark, name: 'x' },
    'type',
    /must be one of: vault, secret/,
  ],
  ['a member of another type', 'POST', '/v1/resources', { name: 'x', value: mark }, 'value', /not a member/],
  ['no source of a key', 'POST', '/v1/keys', key({}), 'generate', /must be given/],
  [
    'two sources of a key',
    'POST',
    '/v1/keys',
    key({ generate: { key_type: 'EC', curve: 'P-256' }, pem: files.pkcs8 }),
    'generate',
    /pem/,
  ],
  [
    'an unknown kind of key',
    'POST',
    '/v1/keys',
    key({ generate: { key_type: mark } }),
    'generate.key_type',
    /RSA, EC/,
  ],
  [
    'an RSA size that is not offered',
    'POST',
    '/v1/keys',
    key({ generate: { key_type: 'RSA', key_size: 1024 } }),
    'generate.key_size',
    /2048/,
  ],
  [
    'an unknown curve',
    'POST',
    '/v1/keys',
    key({ generate: { key_type: 'EC', curve: mark } }),
    'generate.curve',
    /P-256/,
  ],
  [
    'a passphrase without a PEM',
    'POST',
    '/v1/keys',
    key({ generate: { key_type: 'EC', curve: 'P-256' }, passphrase: mark }),
    'passphrase',
    /belongs to a pem/,
  ],
  ['a broken PEM', 'POST', '/v1/keys', key({ pem: `-----BEGIN PRIVATE KEY-----\n${mark}\n` }), 'pem', /./],
  ['a truncated PEM', 'POST', '/v1/keys', key({ pem: files.pkcs8.slice(0, -40) }), 'pem', /./],
  ['a huge PEM', 'POST', '/v1/keys', key({ pem: 'x'.repeat(300_000) }), 'pem', /262144/],
  ['no PEM at all', 'POST', '/v1/keys', key({ pem: mark }), 'pem', /./],
  ['an RSA key of 512 bits', 'POST', '/v1/keys', key({ pem: files.rsa_512 }), 'pem', /2048 to 8192/],
  ['an RSA key of 32,768 bits', 'POST', '/v1/keys', key({ pem: rsa(32_768) }), 'pem', /2048 to 8192/],
  ['a certificate for a key', 'POST', '/v1/keys', key({ pem: files.leaf }), 'pem', /not a key/],
  ['a subject that is none', 'POST', '/v1/keys/{key}/signing-request', { subject: mark }, 'subject', /./],
  [
    'an alternative name that is none',
    'POST',
    '/v1/keys/{key}/signing-request',
    { subject: 'CN=x', sans: [mark] },
    'sans.0',
    /dns:/,
  ],
  [
    '3,651 days',
    'POST',
    '/v1/certificates',
    ({ vaultId, keyId }: World) => ({
      vault_id: vaultId,
      name: 'x',
      key_id: keyId,
      self_signed: { subject: 'CN=x', days: 3651 },
    }),
    'self_signed.days',
    /3650/,
  ],
  ['a role that is none', 'POST', '/v1/api-keys', { name: 'x', role: mark }, 'role', /owner, admin/],
  ['no role', 'POST', '/v1/api-keys', { name: 'x' }, 'role', /owner, admin/],
  [
    'a scope that is none',
    'POST',
    '/v1/api-keys',
    { name: 'x', role: 'owner', scopes: ['*'] },
    'scopes.0',
    /vaults:read/,
  ],
  [
    'no scopes at all',
    'POST',
    '/v1/api-keys',
    { name: 'x', role: 'owner', scopes: [] },
    'scopes',
    /leave it out/,
  ],
  [
    'a range that is none',
    'POST',
    '/v1/access-keys',
    ({ vaultId }: World) => ({ vault_id: vaultId, name: 'x', cidrs: ['10.0.0.1/33'] }),
    'cidrs',
    /10\.0\.0\.0\/8/,
  ],
  [
    'a negative number of uses',
    'POST',
    '/v1/access-keys',
    ({ vaultId }: World) => ({ vault_id: vaultId, name: 'x', max_uses: -1 }),
    'max_uses',
    /from 1/,
  ],
  [
    'an address that is none',
    'POST',
    '/v1/members',
    { email: mark, role: 'viewer' },
    'email',
    /email address/,
  ],
  ['no items', 'POST', '/v1/secrets/bulk', { items: [] }, 'items', /1 to 100/],
];

const queries: [query: string, field: string, reason: RegExp][] = [
  ['page=0', 'page', /from 1/],
  ['page=-1', 'page', /from 1/],
  ['page=1.5', 'page', /whole number/],
  ['page=1e400', 'page', /whole number/],
  ['page=', 'page', /whole number/],
  ['page=1&page=2', 'page', /once/],
  ['page[]=1', 'page[]', /not a member/],
  ['limit=0', 'limit', /1 to 100/],
  ['limit=101', 'limit', /1 to 100/],
  ['limit=99999999999999999999', 'limit', /1 to 100/],
  [`order=${mark}`, 'order', /not a member/],
  [`vault_id=${mark}`, 'vault_id', /UUID/],
  [`as_of=${mark}`, 'as_of', /UUID/],
  [`state=${mark}`, 'state', /active, inactive/],
  [`tag=${mark}`, 'tag', /name=value/],
  ['q=', 'q', /1 to 255/],
  ['q=a&q=b', 'q', /string/],
  ['q=%00', 'q', /control/],
  ['__proto__=1', '__proto__', /not a member/],
];

for (const engine of engines) {
  describe(`bad input on ${engine}`, () => {
    let service: Service;
    let world: World;
    let stored: string;

    before(async () => {
      service = await startService({ engine });
      const vaultId = (await service.call('POST', '/v1/vaults', { name: 'vault' })).body.id;
      const generate = { key_type: 'EC', curve: 'P-256' };
      const dates = { expiration_date: '2098-01-01T00:00:00Z' };
      world = {
        vaultId,
        secretId: (
          await service.call('POST', '/v1/secrets', { vault_id: vaultId, name: 's', value: 'v', ...dates })
        ).body.id,
        keyId: (await service.call('POST', '/v1/keys', { vault_id: vaultId, name: 'k', generate })).body.id,
      };
      stored = await everything();
    });
    after(() => service.stop());

    async function everything(): Promise<string> {
      const collections = ['resources', 'api-keys', 'access-keys', 'public-tokens', 'members', 'audit-logs'];
      const lists = await Promise.all(collections.map(name => service.call('GET', `/v1/${name}?limit=100`)));
      return JSON.stringify(lists.map(({ body }) => body));
    }

    function assertRefused({ status, body, text }: Answer, field: string, reason: RegExp): void {
      assert.equal(status, 400, text);
      assert.equal(body.error.code, 'INVALID_REQUEST', text);
      assert.equal(body.error.details.field, field, text);
      assert.match(body.error.details.reason, reason, text);
      assert.equal(text.includes(mark), false, 'it repeats what was sent');
    }

    for (const [name, method, path, body, field, reason] of bodies) {
      it(`${method} ${path}: ${name}`, async () => {
        const sent = typeof body === 'function' ? body(world) : body;
        const target = path.replace('{secret}', world.secretId).replace('{key}', world.keyId);
        assertRefused(await service.call(method, target, sent), field, reason);
      });
    }

    for (const [query, field, reason] of queries) {
      it(`GET /v1/secrets?${query}`, async () => {
        assertRefused(await service.call('GET', `/v1/secrets?${query}`), field, reason);
      });
    }

    it('parameters on a route that takes none, and purge where there is no trash', async () => {
      assertRefused(await service.call('GET', `/v1/vaults/${world.vaultId}?x=${mark}`), 'x', /not a member/);
      assertRefused(
        await service.call('DELETE', `/v1/members/${world.vaultId}?purge=true`),
        'purge',
        /not a member/,
      );
      assertRefused(
        await service.call('DELETE', `/v1/vaults/${world.vaultId}?purge=yes`),
        'purge',
        /true or false/,
      );
    });

    it('another content type than JSON', async () => {
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/xml',
      ]) {
        const answer = await service.call('POST', '/v1/vaults', `name=${mark}`, service.key, {
          'content-type': type,
        });
        assertRefused(answer, 'content-type', /application\/json/);
      }
    });

    it('bytes that are no UTF-8', async () => {
      const bytes = Buffer.concat([
        Buffer.from(`{"name":"${mark}`),
        Buffer.from([0xff, 0xfe]),
        Buffer.from('"}'),
      ]);
      const { status, text } = await raw('POST', '/v1/vaults', bytes);
      assert.equal(status, 400);
      assert.match(text, /UTF-8/);
      assert.equal(text.includes(mark), false);
    });

    it('a body over 1 MiB, said beforehand or found on the way', async () => {
      const large = Buffer.from(JSON.stringify({ name: mark.repeat(60_000) }));
      for (const chunked of [false, true]) {
        const { status, text } = await raw('POST', '/v1/vaults', large, chunked);
        assert.equal(status, 400);
        assert.match(text, /1 MiB/);
        assert.match(text, /INVALID_REQUEST/);
        assert.equal(text.includes(mark), false);
      }
    });

    it('paths that are none, in the shape of an error of ours', async () => {
      for (const path of ['/v1/secrets/%zz', '/v1/secrets/%ff', `/v1/secrets/%${mark}`]) {
        const { status, text } = await raw('GET', path);
        assert.ok(status === 400 || status === 404, text);
        assert.match(text, /^\{"error":\{"code":"(INVALID_REQUEST|NOT_FOUND)"/);
        assert.equal(text.includes(mark), false);
      }
      for (const path of ['/v1/nothing', '/v1', '/v1/secrets/x/y/z']) {
        const answer = await service.call('GET', path);
        assert.equal(answer.body.error.code, 'NOT_FOUND');
      }
      assert.equal((await service.call('PATCH', '/v1/vaults', {})).body.error.code, 'NOT_FOUND');
    });

    it('every animal of the zoo is refused, and nothing of it is repeated', async () => {
      for (const animal of zoo) {
        const body = { vault_id: world.vaultId, name: 'animal', ...materialOf(animal) };
        const path = animal.kind === 'key' ? '/v1/keys' : '/v1/certificates';
        const { status, body: answer, text } = await service.call('POST', path, body);
        assert.equal(status, 400, `${animal.name}: ${text}`);
        assert.equal(answer.error.code, 'INVALID_REQUEST', animal.name);
        const { field, reason } = answer.error.details;
        // What is over 1 MiB is refused as a whole, before anybody looks at its members.
        const isLarge = JSON.stringify(body).length > 1024 * 1024;
        assert.ok(isLarge || ['pem', 'pkcs12', 'passphrase'].includes(field), `${animal.name}: ${text}`);
        assert.notEqual(reason, '', animal.name);
        assert.equal(repeats(text, Object.values(materialOf(animal)).join('\n')), false, animal.name);
      }
    });

    it('nothing of all this was stored', async () => {
      assert.equal(await everything(), stored);
    });

    it('the service went through all of it without an inner error', () => {
      assert.deepEqual(service.reports, []);
    });

    /** Byte by byte, as no client library would send it. */
    function raw(
      method: string,
      path: string,
      body?: Buffer,
      chunked = false,
    ): Promise<{ status: number; text: string }> {
      const headers = {
        authorization: `Bearer ${service.key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(body === undefined || chunked ? {} : { 'content-length': body.length }),
      };
      return new Promise((resolve, reject) => {
        const call = request(`${service.url}`, { method, path, headers }, response => {
          let text = '';
          response.setEncoding('utf8').on('data', part => {
            text += part;
          });
          response.on('end', () => resolve({ status: response.statusCode!, text }));
        });
        let answered = false;
        call.on('response', () => {
          answered = true;
        });
        // The service does not read a refused upload to its end.
        call.on('error', error => answered || reject(error));
        call.end(body);
      });
    }
  });
}

function materialOf({ kind, input, passphrase }: Animal): Record<string, string> {
  const material: Record<string, string> =
    kind === 'pkcs12' ? { pkcs12: (input as Buffer).toString('base64') } : { pem: input as string };
  return passphrase === undefined ? material : { ...material, passphrase };
}

/** Whether any 24 characters of the answer stand in what was sent. */
function repeats(answer: string, sent: string): boolean {
  return Array.from(answer, (_, at) => answer.slice(at, at + 24)).some(
    piece => piece.length === 24 && sent.includes(piece),
  );
}
