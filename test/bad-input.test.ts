/** Bad input: 400, the field and a reason to act on; nothing stored, and nothing of what was sent repeated. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { bodies, mark, queries, type World } from './bad-bodies.ts';
import { type Answer, enginesInTurn, type Service, startService } from './harness.ts';
import { type Animal, zoo } from './zoo.ts';

for (const engine of enginesInTurn(import.meta.url)) {
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
      // The last use of the key that all this is done with is no matter of what was sent.
      const shown = (name: string, value: unknown) => (name === 'last_used_at' ? null : value);
      return JSON.stringify(
        lists.map(({ body }) => body),
        shown,
      );
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
      assertRefused(await service.call('GET', `/v1/vaults/${world.vaultId}?x=${mark}`), 'x', /not a field/);
      assertRefused(
        await service.call('DELETE', `/v1/members/${world.vaultId}?purge=true`),
        'purge',
        /not a field/,
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
