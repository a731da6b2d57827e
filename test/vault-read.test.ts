import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { mintToken } from '../src/access/token.ts';
import { forged } from './forged.ts';
import { type Answer, engines, eventually, type Service, startService } from './harness.ts';

const day = 86_400_000;

for (const engine of engines) {
  describe(`the vault endpoint on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let key: string;

    const make = async (path: string, body: object): Promise<Answer['body']> => {
      const answer = await service.call('POST', `/v1/${path}`, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const read = (query = '', token: string | null = key, headers = {}) =>
      service.call('GET', `/api/v1/vaults/${vaultId}${query}`, undefined, token, headers);
    const at = (time: number) => {
      service.clock.standAt(time);
    };
    const iso = (time: number) => new Date(time).toISOString();

    before(async () => {
      service = await startService({ engine });
    });
    after(() => service.stop());

    const freshVault = async (name: string) => {
      service.clock.run();
      vaultId = (await make('vaults', { name })).id;
      key = (await make('access-keys', { vault_id: vaultId, name: 'reader' })).token;
    };

    it('without parameters answers the vault with all active secrets: id, name, value, content_type, tags', async () => {
      await freshVault('default');
      const secret = await make('secrets', {
        vault_id: vaultId,
        name: 'A',
        value: 'värde\n',
        content_type: 'text/x-test',
        tags: { team: 'x' },
      });
      await make('secrets', { vault_id: vaultId, name: 'OFF', value: 'x', enabled: false });
      const answer = await read();
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.body, {
        id: vaultId,
        name: 'default',
        secrets: [
          { id: secret.id, name: 'A', value: 'värde\n', content_type: 'text/x-test', tags: { team: 'x' } },
        ],
      });
      assert.equal(answer.headers.get('cache-control'), 'no-store');
    });

    it('with secrets=names each secret has only id and name', async () => {
      await freshVault('names');
      const secret = await make('secrets', { vault_id: vaultId, name: 'A', value: 'hidden' });
      const answer = await read('?secrets=names');
      assert.deepEqual(answer.body.secrets, [{ id: secret.id, name: 'A' }]);
      assert.ok(!answer.text.includes('hidden'));
    });

    it('include adds keys and certificates, in either order, and only then', async () => {
      await freshVault('include');
      const made = await make('keys', {
        vault_id: vaultId,
        name: 'K',
        generate: { key_type: 'EC', curve: 'P-256' },
      });
      const certificate = await make('certificates', {
        vault_id: vaultId,
        name: 'C',
        key_id: made.id,
        self_signed: { subject: 'CN=example.com', days: 10 },
      });
      assert.deepEqual(Object.keys((await read()).body), ['id', 'name', 'secrets']);
      const keyItem = {
        id: made.id,
        name: 'K',
        type: 'private',
        key_type: 'EC',
        key_size: 256,
        activation_date: null,
        expiration_date: null,
        tags: {},
      };
      const certificateItem = {
        id: certificate.id,
        name: 'C',
        type: 'x509',
        expires_at: certificate.expires_at,
        tags: {},
      };
      assert.deepEqual((await read('?include=keys')).body.keys, [keyItem]);
      assert.equal('certificates' in (await read('?include=keys')).body, false);
      assert.deepEqual((await read('?include=certificates')).body.certificates, [certificateItem]);
      for (const both of ['keys,certificates', 'certificates,keys']) {
        const { body } = await read(`?include=${both}`);
        assert.deepEqual(body.keys, [keyItem]);
        assert.deepEqual(body.certificates, [certificateItem]);
      }
    });

    it('resource answers a secret as JSON, a certificate and a key as PEM with no-cache headers', async () => {
      await freshVault('resource');
      const secret = await make('secrets', { vault_id: vaultId, name: 'S', value: 'v' });
      const made = await make('keys', {
        vault_id: vaultId,
        name: 'K',
        generate: { key_type: 'OKP', curve: 'Ed25519' },
      });
      const certificate = await make('certificates', {
        vault_id: vaultId,
        name: 'C',
        key_id: made.id,
        self_signed: { subject: 'CN=a', days: 10 },
      });
      assert.deepEqual((await read(`?resource=${secret.id}`)).body, {
        id: secret.id,
        name: 'S',
        value: 'v',
        content_type: 'text/plain',
        tags: {},
      });
      for (const [id, label] of [
        [made.id, 'PRIVATE KEY'],
        [certificate.id, 'CERTIFICATE'],
      ]) {
        const answer = await read(`?resource=${id}&include=keys`);
        assert.equal(answer.status, 200);
        assert.equal(answer.headers.get('content-type'), 'application/x-pem-file');
        assert.match(answer.headers.get('cache-control')!, /no-cache/);
        assert.match(answer.text, new RegExp(`^-----BEGIN ${label}-----`));
      }
    });

    it('a key that is not exportable gives its public half', async () => {
      await freshVault('exportable');
      const made = await make('keys', {
        vault_id: vaultId,
        name: 'K',
        exportable: false,
        generate: { key_type: 'EC', curve: 'P-256' },
      });
      assert.match((await read(`?resource=${made.id}`)).text, /^-----BEGIN PUBLIC KEY-----/);
      assert.equal((await read('?include=keys')).body.keys[0].type, 'public');
    });

    it('a secret is active from its activation date to its expiration date, and else is not there', async () => {
      await freshVault('secret dates');
      const from = service.clock.now() + day;
      const to = from + day;
      const { id } = await make('secrets', {
        vault_id: vaultId,
        name: 'S',
        value: 'v',
        activation_date: iso(from),
        expiration_date: iso(to),
      });
      for (const [time, there] of [
        [from - 1, false],
        [from, true],
        [from + 1, true],
        [to - 1, true],
        [to, false],
        [to + 1, false],
      ] as const) {
        at(time);
        assert.equal((await read()).body.secrets.length, there ? 1 : 0, `list at ${time - from}`);
        assert.equal((await read(`?resource=${id}`)).status, there ? 200 : 404, `fetch at ${time - from}`);
      }
    });

    it('a key before its activation date is not listed and answers 403; expired it is a stub and answers 410', async () => {
      await freshVault('key dates');
      const from = service.clock.now() + day;
      const to = from + day;
      const { id } = await make('keys', {
        vault_id: vaultId,
        name: 'K',
        generate: { key_type: 'OKP', curve: 'Ed25519' },
        activation_date: iso(from),
        expiration_date: iso(to),
      });
      const expectations = [
        [from - 1, 0, 403],
        [from, 1, 200],
        [from + 1, 1, 200],
        [to - 1, 1, 200],
        [to, 'stub', 410],
        [to + 1, 'stub', 410],
      ] as const;
      for (const [time, listed, status] of expectations) {
        at(time);
        const list = await read('?include=keys');
        assert.equal(list.status, 200);
        if (listed === 'stub') assert.deepEqual(list.body.keys, [{ id, message: 'Resource expired' }]);
        else assert.equal(list.body.keys.length, listed);
        const fetched = await read(`?resource=${id}`);
        assert.equal(fetched.status, status);
        if (status === 403) assert.deepEqual(fetched.body, { message: 'Resource not active' });
        if (status === 410) assert.deepEqual(fetched.body, { message: 'Resource expired' });
      }
    });

    it('an expired certificate is a stub in the list and 410 when fetched', async () => {
      await freshVault('certificate dates');
      const made = await make('keys', {
        vault_id: vaultId,
        name: 'K',
        generate: { key_type: 'EC', curve: 'P-256' },
      });
      const { id, expires_at } = await make('certificates', {
        vault_id: vaultId,
        name: 'C',
        key_id: made.id,
        self_signed: { subject: 'CN=a', days: 1 },
      });
      const end = Date.parse(expires_at);
      at(end - 1);
      assert.equal((await read('?include=certificates')).body.certificates[0].name, 'C');
      assert.equal((await read(`?resource=${id}`)).status, 200);
      for (const time of [end, end + 1]) {
        at(time);
        assert.deepEqual((await read('?include=certificates')).body.certificates, [
          { id, message: 'Resource expired' },
        ]);
        const fetched = await read(`?resource=${id}`);
        assert.equal(fetched.status, 410);
        assert.deepEqual(fetched.body, { message: 'Resource expired' });
      }
    });

    it('a missing, malformed, unknown, foreign or misplaced token, and an unknown vault, are the same 401', async () => {
      await freshVault('refusals');
      const other = (await make('vaults', { name: 'other' })).id;
      const foreign = (await make('access-keys', { vault_id: other, name: 'x' })).token;
      const cases = [
        await read('', null),
        await read('', 'nonsense'),
        await read('', `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`),
        await read('', mintToken('vault', randomUUID())),
        await read('', forged(key)),
        await read('', foreign),
        await read('', service.key),
        await service.call('GET', '/api/v1/vaults/0199a3c4-7f00-7abc-8def-0123456789ab', undefined, key),
        await service.call('GET', '/api/v1/vaults/nonsense', undefined, key),
      ];
      for (const answer of cases) {
        assert.equal(answer.status, 401);
        assert.deepEqual(answer.body, { message: 'Unauthorized' });
        assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
      }
    });

    it('values that are not allowed are 400 and name the parameter; an unknown resource is 404', async () => {
      await freshVault('bad queries');
      for (const [query, name] of [
        ['?secrets=all', 'secrets'],
        ['?include=passwords', 'include'],
        ['?include=', 'include'],
        ['?secrets=names&secrets=names', 'secrets'],
        ['?include=keys&include=certificates', 'include'],
        ['?resources=x', 'resources'],
      ] as const) {
        const answer = await read(query);
        assert.equal(answer.status, 400, query);
        assert.match(answer.body.message, new RegExp(`^${name!} `));
      }
      for (const id of ['0199a3c4-7f00-7abc-8def-0123456789ab', 'x', '']) {
        const answer = await read(`?resource=${id}`);
        assert.equal(answer.status, 404);
        assert.deepEqual(answer.body, { message: 'Resource not found' });
      }
    });

    it('what is wrong with the parameters is told to a good access key alone, on a known connection too', async () => {
      await freshVault('parameters');
      for (const token of [null, forged(key), key, forged(key), key]) {
        const { status } = await read('?secrets=all', token);
        assert.equal(status, token === key ? 400 : 401);
      }
    });

    it('JSON carries an ETag, and If-None-Match gets 304 until something changes', async () => {
      await freshVault('etag');
      const { id } = await make('secrets', { vault_id: vaultId, name: 'S', value: 'one' });
      const etag = (await read()).headers.get('etag')!;
      assert.match(etag, /^"[\w-]+"$/);
      const unchanged = await read('', key, { 'if-none-match': etag });
      assert.equal(unchanged.status, 304);
      assert.equal(unchanged.text, '');
      await service.call('PUT', `/v1/secrets/${id}`, { value: 'two' });
      const changed = await read('', key, { 'if-none-match': etag });
      assert.equal(changed.status, 200);
      assert.equal(changed.body.secrets[0].value, 'two');
    });

    it('a kept answer is dropped the moment that anything in the vault changes', async () => {
      await freshVault('changes');
      const names = async () => (await read()).body.secrets.map((secret: { name: string }) => secret.name);
      assert.deepEqual(await names(), []);
      const { id } = await make('secrets', { vault_id: vaultId, name: 'S', value: 'v' });
      assert.deepEqual(await names(), ['S']);
      await service.call('PUT', `/v1/secrets/${id}`, { name: 'T' });
      assert.deepEqual(await names(), ['T']);
      await service.call('PUT', `/v1/secrets/${id}`, { enabled: false });
      assert.deepEqual(await names(), []);
      await service.call('PUT', `/v1/secrets/${id}`, { enabled: true });
      await service.call('DELETE', `/v1/secrets/${id}`);
      assert.deepEqual(await names(), []);
      await service.call('POST', `/v1/resources/${id}/restore`);
      assert.deepEqual(await names(), ['T']);
      await service.call('DELETE', `/v1/vaults/${vaultId}`);
      assert.equal((await read()).status, 401);
    });

    it('an access key sees only its kinds and names, or names only', async () => {
      await freshVault('narrowed');
      await make('secrets', { vault_id: vaultId, name: 'DB_URL', value: 'v' });
      await make('secrets', { vault_id: vaultId, name: 'API*KEY', value: 'v' });
      const made = await make('keys', {
        vault_id: vaultId,
        name: 'DB_KEY',
        generate: { key_type: 'EC', curve: 'P-256' },
      });
      const narrow = async (narrowing: object) =>
        (await make('access-keys', { vault_id: vaultId, name: 'n', ...narrowing })).token;
      const names = (answer: Answer) => answer.body.secrets.map((secret: { name: string }) => secret.name);
      const byName = await narrow({ names: ['DB_*'] });
      assert.deepEqual(names(await read('', byName)), ['DB_URL']);
      assert.deepEqual(names(await read('', await narrow({ names: ['API*KEY'] }))), ['API*KEY']);
      assert.deepEqual(names(await read('', await narrow({ names: ['DB'] }))), []);
      const keysOnly = await narrow({ kinds: ['key'] });
      assert.deepEqual(names(await read('?include=keys', keysOnly)), []);
      assert.equal((await read('?include=keys', keysOnly)).body.keys.length, 1);
      const secretsOnly = await narrow({ kinds: ['secret'] });
      assert.equal((await read(`?resource=${made.id}`, secretsOnly)).status, 404);
      const namesOnly = await narrow({ names_only: true });
      const listed = await read('', namesOnly);
      assert.deepEqual(Object.keys(listed.body.secrets[0]), ['id', 'name']);
      assert.equal((await read(`?resource=${listed.body.secrets[0].id}`, namesOnly)).status, 403);
    });

    it('an access key is bound to its addresses, its expiry, its number of uses and its own rate', async () => {
      await freshVault('bounds');
      const narrow = async (narrowing: object) =>
        (await make('access-keys', { vault_id: vaultId, name: 'n', ...narrowing })).token;
      assert.equal((await read('', await narrow({ cidrs: ['127.0.0.0/8', '::1/128'] }))).status, 200);
      assert.equal((await read('', await narrow({ cidrs: ['10.0.0.0/8'] }))).status, 401);
      const expiry = service.clock.now() + day;
      const expiring = await narrow({ expiration_date: iso(expiry) });
      at(expiry - 1);
      assert.equal((await read('', expiring)).status, 200);
      at(expiry);
      assert.equal((await read('', expiring)).status, 401);
      service.clock.run();
      const twice = await narrow({ max_uses: 2 });
      const used = await Promise.all(Array.from({ length: 6 }, () => read('', twice)));
      assert.equal(used.filter(answer => answer.status === 200).length, 2);
      at(Math.ceil(service.clock.now() / 60_000) * 60_000 + 1_000);
      const slow = await narrow({ rate_limit: 3 });
      const rated = await Promise.all(Array.from({ length: 5 }, () => read('', slow)));
      assert.deepEqual(rated.map(answer => answer.status).sort(), [200, 200, 200, 429, 429]);
    });

    it('a revoked key is refused at once', async () => {
      await freshVault('revoked');
      const { id, token } = await make('access-keys', { vault_id: vaultId, name: 'r' });
      assert.equal((await read('', token)).status, 200);
      await service.call('DELETE', `/v1/access-keys/${id}`);
      assert.equal((await read('', token)).status, 401);
    });

    it('Accept that allows neither JSON nor PEM is still answered, and a trailing slash is the same route', async () => {
      await freshVault('accept');
      assert.equal((await read('', key, { accept: 'image/png' })).status, 200);
      const slash = await service.call('GET', `/api/v1/vaults/${vaultId}/`, undefined, key);
      assert.equal(slash.status, 200);
    });

    it('a vault of 1,000 secrets is answered whole', async () => {
      await freshVault('large');
      for (let batch = 0; batch < 10; batch++) {
        const items = Array.from({ length: 100 }, (_, index) => ({
          vault_id: vaultId,
          name: `S_${batch}_${index}`,
          value: `value ${batch} ${index}`,
        }));
        await make('secrets/bulk', { items });
      }
      const { body } = await read();
      assert.equal(body.secrets.length, 1000);
      assert.ok(
        body.secrets.every(
          (secret: { name: string; value: string }) =>
            secret.value === secret.name.replace('S_', 'value ').replace('_', ' '),
        ),
      );
    });
  });
}

describe('replicas over one PostgreSQL', () => {
  it('a change or a revocation on one is heard of by the other', async () => {
    const service = await startService({ engine: 'postgres' });
    try {
      const replica = await service.replica();
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'v' });
      const { body: secret } = await service.call('POST', '/v1/secrets', {
        vault_id: vault.id,
        name: 'S',
        value: 'one',
      });
      const { body: access } = await service.call('POST', '/v1/access-keys', {
        vault_id: vault.id,
        name: 'k',
      });
      const there = async () => {
        const response = await fetch(`${replica.url}/api/v1/vaults/${vault.id}`, {
          headers: { authorization: `Bearer ${access.token}` },
        });
        return { status: response.status, text: await response.text() };
      };
      assert.equal((await there()).status, 200);
      await service.call('PUT', `/v1/secrets/${secret.id}`, { value: 'two' });
      await eventually('the replica serves the new value', async () =>
        (await there()).text.includes('"two"'),
      );
      await service.call('DELETE', `/v1/access-keys/${access.id}`);
      await eventually('the replica refuses the revoked key', async () => (await there()).status === 401);
    } finally {
      await service.stop();
    }
  });
});
