/** Keys that services use without ever seeing them: at both endpoints, with versions, restrictions, batches and the log. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { compactVerify, createLocalJWKSet } from 'jose';
import { callService, enginesInTurn, eventually, type Service, startService } from './harness.ts';

const b64 = (text: string) => Buffer.from(text).toString('base64url');
const textOf = (bytes: string) => Buffer.from(bytes, 'base64url').toString();

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`keys at work, on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let worker: string;
    const everything = ['sign', 'verify', 'decrypt', 'encrypt', 'wrap', 'unwrap', 'mac', 'rewrap'];

    before(async () => {
      service = await startService({ engine });
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'keys' })).body.id;
      worker = await accessKey({ kinds: ['key'], names_only: true, operations: everything });
    });
    after(() => service.stop());

    async function accessKey(said: object): Promise<string> {
      const made = await service.call('POST', '/v1/access-keys', {
        vault_id: vaultId,
        name: 'worker',
        ...said,
      });
      assert.equal(made.status, 200, made.text);
      return made.body.token;
    }
    async function make(name: string, generate: object, said: object = {}) {
      const made = await service.call('POST', '/v1/keys', { vault_id: vaultId, name, generate, ...said });
      assert.equal(made.status, 200, made.text);
      return made.body as {
        id: string;
        operations: Record<string, string[]>;
        type: string;
        exportable: boolean;
      };
    }
    const work = (key: string, operation: string, body: object, token: string | null = worker) =>
      callService(
        service.url,
        'POST',
        `/api/v1/vaults/self/keys/${encodeURIComponent(key)}/${operation}`,
        body,
        token,
      );
    const keySet = (key: string, token: string | null) =>
      callService(
        service.url,
        'GET',
        `/api/v1/vaults/${vaultId}/keys/${encodeURIComponent(key)}/jwks.json`,
        undefined,
        token,
      );

    const inverse = { sign: 'verify', mac: 'verify', encrypt: 'decrypt', wrap: 'unwrap' };
    const value = Buffer.alloc(32, 9).toString('base64url');

    async function thereAndBack(asked: Record<'id' | 'name' | 'operation' | 'back' | 'alg', string>) {
      const { id, name, operation, back, alg } = asked;
      const { body, text } = await work(name, operation, { alg, value });
      assert.deepEqual([body.kid, body.version, body.alg], [id, 1, alg], text);
      if (back === 'verify') {
        const verified = await work(id, back, { alg, value, signature: body.value });
        assert.equal(verified.body.valid, true, verified.text);
        return;
      }
      const undone = await work(id, back, { alg, value: body.value, epk: body.epk, ek: body.ek });
      assert.equal(undone.body.value, value, undone.text);
    }

    it('do everything that their type can, by name and by id', async () => {
      const kinds = {
        RSA: { key_type: 'RSA', key_size: 2048 },
        EC: { key_type: 'EC', curve: 'P-256' },
        OKP: { key_type: 'OKP', curve: 'Ed25519' },
        X25519: { key_type: 'OKP', curve: 'X25519' },
        'ML-DSA': { key_type: 'ML-DSA', key_size: 44 },
        'ML-KEM': { key_type: 'ML-KEM', key_size: 512 },
        AES: { key_type: 'AES' },
        HMAC: { key_type: 'HMAC', key_size: 512 },
      };
      for (const [type, generate] of Object.entries(kinds)) {
        const name = `a key of ${type}`;
        const { id, operations } = await make(name, generate);
        for (const [operation, back] of Object.entries(inverse))
          for (const alg of operations[operation] ?? [])
            await thereAndBack({ id, name, operation, back, alg });
      }
      assert.equal((await work('a key of EC', 'encrypt', { value })).body.message, 'key can’t encrypt');
      assert.match(
        (await work('a key of EC', 'sign', { value, alg: 'PS256' })).body.message,
        /^alg must be one/,
      );
    });

    it('sign and encrypt with the newest version, verify and decrypt with older ones, down to the lowest', async () => {
      const { id } = await make('turning', { key_type: 'AES' });
      const signer = await make('turning signer', { key_type: 'OKP', curve: 'Ed25519' });
      const sealed = (await work('turning', 'encrypt', { text: 'kept', aad: b64('row 1') })).body;
      const signed = (await work('turning signer', 'sign', { text: 'kept' })).body;
      for (const one of [id, signer.id])
        assert.equal((await service.call('POST', `/v1/keys/${one}/rotate`)).status, 200);

      const { body: newer } = await work('turning', 'encrypt', { text: 'new' });
      assert.deepEqual([newer.version, newer.kid], [2, `${id}.2`]);
      const opened = await work('turning', 'decrypt', { value: sealed.value, aad: b64('row 1') });
      assert.deepEqual([textOf(opened.body.value), opened.body.version], ['kept', 1]);
      const again = await work('turning', 'rewrap', { value: sealed.value, aad: b64('row 1') });
      assert.equal(again.body.version, 2, again.text);
      const verify = (version: number) =>
        work('turning signer', 'verify', { text: 'kept', signature: signed.value, version });
      assert.deepEqual([(await verify(1)).body.valid, (await verify(2)).body.valid], [true, false]);
      assert.equal((await work('turning signer', 'sign', { text: 'x', version: 1 })).status, 400);
      const { body: set } = await keySet('turning signer', await accessKey({}));
      assert.deepEqual(
        set.keys.map(({ kid }: { kid: string }) => kid),
        [`${signer.id}.2`, signer.id],
      );

      for (const one of [id, signer.id]) {
        const raised = await service.call('PUT', `/v1/keys/${one}`, { min_version: 2 });
        assert.equal(raised.body.min_version, 2, raised.text);
        assert.equal((await service.call('PUT', `/v1/keys/${one}`, { min_version: 3 })).status, 400);
      }
      await eventually('the lowest version counts', async () => (await verify(1)).status === 400);
      const late = await work('turning', 'decrypt', { value: sealed.value, aad: b64('row 1') });
      assert.equal(late.body.message, 'value can’t be decrypted with this key');
      assert.equal(
        textOf((await work('turning', 'decrypt', { value: again.body.value, aad: b64('row 1') })).body.value),
        'kept',
      );
      assert.equal((await keySet('turning signer', await accessKey({}))).body.keys.length, 1);
      const rotated = await service.call('POST', `/v1/keys/${id}/rotate`);
      assert.deepEqual([rotated.body.version, rotated.body.min_version], [3, 2]);
    });

    it('do many at once, in order, with an error for each that fails', async () => {
      await make('many', { key_type: 'HMAC' });
      const items = Array.from({ length: 300 }, (_, at) => ({ text: `item ${at}` }));
      const { body } = await work('many', 'mac', { items });
      assert.equal(body.items.length, 300);
      const [, second] = body.items;
      const mixed = [
        { text: 'item 1', signature: second.value },
        { text: 'item 2', signature: second.value },
        { text: 'item 1' },
        { text: 'item 1', value: 'AAAA', signature: second.value },
        { text: 'item 1', signature: second.value, alg: 'HS512' },
      ];
      const checked = (await work('many', 'verify', { items: mixed })).body.items;
      assert.deepEqual(
        checked.map(
          (item: { valid?: boolean; error?: { details: { field: string } } }) =>
            item.valid ?? item.error!.details.field,
        ),
        [true, false, 'signature', 'value', 'alg'],
      );
      assert.equal((await work('many', 'mac', { items: [] })).status, 400);
      assert.equal((await work('many', 'mac', { items: Array(501).fill({ text: '' }) })).status, 400);
      assert.equal((await work('many', 'mac', { items, text: 'x' })).status, 400);
    });

    it('answer every failed decryption alike', async () => {
      const value =
        (await make('alike', { key_type: 'AES' })) &&
        (await work('alike', 'encrypt', { text: 'x' })).body.value;
      const bytes = Buffer.from(value, 'base64url');
      const versioned = Buffer.from(bytes);
      versioned.writeUInt32BE(7, 1);
      const wrong = ['', 'AAAA', bytes.subarray(1), Buffer.concat([bytes, bytes]), versioned].map(one =>
        typeof one === 'string' ? one : one.toString('base64url'),
      );
      const answers = await Promise.all(wrong.map(one => work('alike', 'decrypt', { value: one })));
      assert.deepEqual(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size, 1);
      assert.equal((await work('alike', 'decrypt', { value, version: 9 })).text, answers[0]!.text);
    });

    it('are never given out, and have no public token if they are symmetric', async () => {
      const { id, type, exportable } = await make('symmetric', { key_type: 'AES' });
      assert.deepEqual([type, exportable], ['symmetric', false]);
      assert.equal((await service.call('POST', `/v1/keys/${id}/reveal`)).status, 403);
      const refused = await service.call('POST', '/v1/keys', {
        vault_id: vaultId,
        name: 'no',
        generate: { key_type: 'AES' },
        exportable: true,
      });
      assert.equal(refused.body.error.details.field, 'exportable');
      const read = await callService(
        service.url,
        'GET',
        `/api/v1/vaults/self?resource=${id}`,
        undefined,
        await accessKey({}),
      );
      assert.equal(read.status, 403);
      assert.equal((await service.call('POST', '/v1/public-tokens', { key_id: id })).status, 400);
      assert.deepEqual((await keySet('symmetric', await accessKey({}))).body, { keys: [] });
      const other = { generate: { key_type: 'EC', curve: 'P-256' } };
      assert.equal((await service.call('POST', `/v1/keys/${id}/rotate`, other)).status, 400);
    });

    it('are imported as bytes', async () => {
      const k = Buffer.alloc(64, 3);
      const oct = { key_type: 'HMAC', k: k.toString('base64url') };
      const made = await service.call('POST', '/v1/keys', { vault_id: vaultId, name: 'imported', oct });
      assert.equal(made.body.key_size, 512, made.text);
      const { body } = await work('imported', 'mac', { alg: 'HS512', text: 'x' });
      assert.equal(body.value, createHmac('sha512', k).update('x').digest('base64url'));
      for (const bad of [
        { key_type: 'AES', k: k.toString('base64url') },
        { key_type: 'HMAC', k: Buffer.alloc(31).toString('base64url') },
        { key_type: 'HMAC', k: Buffer.alloc(513).toString('base64url') },
        { key_type: 'HMAC', k: `${oct.k}=` },
      ])
        assert.equal(
          (await service.call('POST', '/v1/keys', { vault_id: vaultId, name: 'bad', oct: bad })).status,
          400,
        );
    });

    it('do what the access key is restricted to, and nothing for others', async () => {
      const { id } = await make('guarded', { key_type: 'AES' });
      const plain = await accessKey({});
      const sealed = await work('guarded', 'encrypt', { text: 'x' }, plain);
      assert.equal(sealed.status, 200, sealed.text);
      const { value } = sealed.body;
      const names = await accessKey({ names_only: true });
      const other = await accessKey({ names: ['other*'], operations: everything });
      const secrets = await accessKey({ kinds: ['secret'], operations: everything });
      const decrypts = await accessKey({ operations: ['decrypt'] });
      assert.equal((await work('guarded', 'decrypt', { value }, plain)).status, 403);
      assert.equal((await work('guarded', 'encrypt', { text: 'x' }, names)).status, 403);
      assert.equal((await work('guarded', 'encrypt', { text: 'x' }, decrypts)).status, 403);
      assert.equal((await work('guarded', 'decrypt', { value }, decrypts)).status, 200);
      for (const token of [other, secrets]) {
        const unseen = await work('guarded', 'decrypt', { value }, token);
        const unknown = await work('no such key', 'decrypt', { value }, token);
        assert.deepEqual([unseen.status, unseen.text], [404, unknown.text]);
      }
      assert.equal((await work(id, 'decrypt', { value }, null)).status, 401);
      const token = (await service.call('POST', '/v1/vaults', { name: `another ${engine}` })).body.id;
      const elsewhere = await service.call('POST', '/v1/access-keys', {
        vault_id: token,
        name: 'x',
        operations: everything,
      });
      assert.equal((await work(id, 'decrypt', { value }, elsewhere.body.token)).status, 404);
      assert.equal((await work('guarded', 'use', { value })).status, 404);
    });

    it('count each item of a batch towards uses and limits', async () => {
      await make('counted', { key_type: 'HMAC' });
      const items = [{ text: 'a' }, { text: 'b' }];
      const thrice = await accessKey({ operations: ['mac'], max_uses: 3 });
      assert.equal((await work('counted', 'mac', { items }, thrice)).status, 200);
      assert.equal((await work('counted', 'mac', { items }, thrice)).status, 401);
      assert.equal((await work('counted', 'mac', { text: 'a' }, thrice)).status, 200);
      const slow = await accessKey({ operations: ['mac'], rate_limit: 3 });
      assert.equal((await work('counted', 'mac', { items: [...items, ...items] }, slow)).status, 429);
    });

    it('follow the dates of the key, and end with it', async () => {
      const at = (ms: number) => new Date(Date.now() + ms).toISOString();
      await make('later', { key_type: 'HMAC' }, { activation_date: at(3_600_000) });
      assert.equal((await work('later', 'mac', { text: 'a' })).status, 403);
      const { id } = await make('gone', { key_type: 'HMAC' });
      assert.equal((await work('gone', 'mac', { text: 'a' })).status, 200);
      await service.call('DELETE', `/v1/keys/${id}`);
      await eventually(
        'the key is gone',
        async () => (await work('gone', 'mac', { text: 'a' })).status === 404,
      );
      assert.equal((await service.call('POST', `/v1/keys/${id}/mac`, { text: 'a' })).status, 404);
    });

    it('are in the log before the answer, with sizes and without any input', async () => {
      const { id } = await make('logged', { key_type: 'AES' });
      const answer = await work('logged', 'encrypt', {
        items: [{ text: 'a very secret input' }, { text: 'b' }],
      });
      const { data } = (await service.call('GET', '/v1/request-logs?limit=5')).body;
      const [entry] = data;
      assert.equal(entry.receipt, answer.headers.get('strongroom-receipt'));
      assert.equal(entry.route, '/api/v1/vaults/{vault_id}/keys/{key}/encrypt');
      assert.equal(entry.requested, 'key=encrypt A256GCM version=1 items=2 bytes=20 answered=126 logged');
      assert.equal(JSON.stringify(data).includes('secret input'), false);
      const mine = await service.call('POST', `/v1/keys/${id}/encrypt`, { text: 'another secret input' });
      assert.equal(mine.status, 200, mine.text);
      const [used] = (await service.call('GET', `/v1/audit-logs?limit=1`)).body.data;
      assert.deepEqual([used.action, used.subject_id ?? used.subject?.id], ['key.used', id]);
      assert.equal(JSON.stringify(used).includes('secret input'), false);
    });

    it('are used through the general API with a permission of its own', async () => {
      const { id } = await make('general', { key_type: 'EC', curve: 'P-256' });
      const { body } = await service.call('POST', `/v1/keys/${id}/sign`, { text: 'x' });
      assert.equal(
        (await service.call('POST', `/v1/keys/${id}/verify`, { text: 'x', signature: body.value })).body
          .valid,
        true,
      );
      const asked = { name: 'reveals', role: 'owner', scopes: ['keys:read', 'keys:reveal', 'keys:write'] };
      const { token } = (await service.call('POST', '/v1/api-keys', asked)).body;
      const refused = await callService(service.url, 'POST', `/v1/keys/${id}/sign`, { text: 'x' }, token);
      assert.equal(refused.status, 403);
      const scopes = ['access-keys:write', 'access-keys:read', 'vaults:read', 'keys:read', 'keys:reveal'];
      const giver = (await service.call('POST', '/v1/api-keys', { name: 'gives', role: 'owner', scopes }))
        .body.token;
      const give = (said: object) =>
        callService(
          service.url,
          'POST',
          '/v1/access-keys',
          { vault_id: vaultId, name: 'n', kinds: ['key'], ...said },
          giver,
        );
      assert.equal((await give({})).status, 200);
      assert.equal((await give({ operations: ['sign'] })).status, 403);
    });

    it('have their public keys as a set, for access keys and public tokens, by which jose verifies', async () => {
      const { id } = await make('set', { key_type: 'OKP', curve: 'Ed25519' });
      const { token } = (await service.call('POST', '/v1/public-tokens', { key_id: id })).body;
      const head = b64(JSON.stringify({ alg: 'EdDSA', kid: id }));
      const input = `${head}.${b64('payload')}`;
      const { body } = await work('set', 'sign', { text: input });
      const set = await keySet('set', token);
      assert.equal(set.status, 200, set.text);
      const { payload } = await compactVerify(`${input}.${body.value}`, createLocalJWKSet(set.body));
      assert.equal(Buffer.from(payload).toString(), 'payload');
      assert.deepEqual((await keySet(id, token)).body, set.body);
      assert.equal((await keySet('general', token)).status, 401);
      assert.equal((await keySet('set', null)).status, 401);
      assert.equal((await keySet('set', await accessKey({ names_only: true }))).status, 403);
      assert.equal((await keySet('set', await accessKey({ names: ['other'] }))).status, 404);
    });
  });
}
