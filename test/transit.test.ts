/** Vault's transit engine over the keys of a vault: its paths, answers and refusals, for access keys and API keys. */
import assert from 'node:assert/strict';
import { createHmac, createPublicKey, hash, verify } from 'node:crypto';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { Client } from '@litehex/node-vault';
import { callService, enginesInTurn, eventually, type Service, startService } from './harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: its own types don't say what it answers
const nodeVault = createRequire(import.meta.url)('node-vault') as (options: object) => any;
const b64 = (text: string) => Buffer.from(text).toString('base64');
const textOf = (bytes: string) => Buffer.from(bytes, 'base64').toString();

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`the transit engine, on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let worker: string;
    let editor: string;
    const everything = ['sign', 'verify', 'decrypt', 'encrypt', 'wrap', 'unwrap', 'mac', 'rewrap'];

    before(async () => {
      service = await startService({ engine });
      vaultId = (await service.call('POST', '/v1/vaults', { name: 'prod' })).body.id;
      worker = await accessKey({ operations: everything });
      editor = (
        await service.call('POST', '/v1/api-keys', { name: 'ci', role: 'editor', vault_ids: [vaultId] })
      ).body.token;
    });
    after(() => service.stop());

    async function accessKey(said: object): Promise<string> {
      const made = await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'app', ...said });
      assert.equal(made.status, 200, made.text);
      return made.body.token;
    }
    const ask = (method: string, path: string, body?: object, token: string | null = worker, headers = {}) =>
      callService(service.url, method, `/vault/v1/${path}`, body, null, {
        'x-vault-request': 'true',
        ...(token === null ? {} : { 'x-vault-token': token }),
        ...headers,
      });
    const make = async (name: string, body: object = {}) => {
      const made = await ask('POST', `transit/keys/${name}`, body, editor);
      assert.equal(made.status, 200, made.text);
      return made.body.data;
    };
    const seen = (what: string, path: string, status: number, token = worker) =>
      eventually(what, async () => (await ask('GET', path, undefined, token)).status === status);

    it('node-vault encrypts, decrypts, rewraps, and manages keys', async () => {
      const vault = nodeVault({ endpoint: `${service.url}/vault`, token: editor });
      await vault.transitCreateKey({ name: 'node', type: 'aes256-gcm96' });
      const app = nodeVault({ endpoint: `${service.url}/vault`, token: worker });
      const { data } = await app.encryptData({ name: 'node', plaintext: b64('kept') });
      assert.match(data.ciphertext, /^vault:v1:/);
      assert.equal(
        textOf((await app.decryptData({ name: 'node', ciphertext: data.ciphertext })).data.plaintext),
        'kept',
      );
      await vault.write('transit/keys/node/rotate', {});
      await eventually('the new version encrypts', async () =>
        (await app.encryptData({ name: 'node', plaintext: '' })).data.ciphertext.startsWith('vault:v2:'),
      );
      const rewrapped = await app.rewrapData({ name: 'node', ciphertext: data.ciphertext });
      assert.match(rewrapped.data.ciphertext, /^vault:v2:/);
      const { data: key } = await app.transitReadKey({ name: 'node' });
      assert.deepEqual(
        [key.type, key.latest_version, Object.keys(key.keys)],
        ['aes256-gcm96', 2, ['1', '2']],
      );
      for (const one of [app, vault]) assert.ok((await one.transitListKeys()).data.keys.includes('node'));
      await vault.transitDeleteKey({ name: 'node' });
      await assert.rejects(vault.transitReadKey({ name: 'node' }), { message: 'Status 404' });
      await eventually('the deleted key is gone', () =>
        app.encryptData({ name: 'node', plaintext: '' }).then(
          () => false,
          (error: Error) => error.message === 'encryption key not found',
        ),
      );
    });

    it('@litehex/node-vault accepts every answer by its own schemas', async () => {
      const mount = { mountPath: 'transit', name: 'litehex' };
      const vault = new Client({ endpoint: `${service.url}/vault`, token: editor }).transit;
      const app = new Client({ endpoint: `${service.url}/vault`, token: worker }).transit;
      const good = <T>({ data, error }: { data?: T | undefined; error?: unknown }): T => {
        assert.ok(data !== undefined, String(error));
        return data;
      };
      const created = good(await vault.createKey({ ...mount, type: 'aes256-gcm96' }));
      assert.equal(created.data.latest_version, 1);
      assert.equal(good(await vault.readKey(mount)).data.name, 'litehex');
      good(await vault.rotateKey(mount));
      const updated = good(
        await vault.updateKey({ ...mount, min_decryption_version: 2, deletion_allowed: true }),
      );
      assert.equal(updated.data.min_decryption_version, 2);
      await seen('the key is there', 'transit/keys/litehex', 200);
      const sealed = good(await app.encrypt({ ...mount, plaintext: b64('x') })).data.ciphertext!;
      assert.equal(textOf(good(await app.decrypt({ ...mount, ciphertext: sealed })).data.plaintext!), 'x');
      good(await app.rewrap({ ...mount, ciphertext: sealed }));
      const whole = good(await app.generateDataKey({ ...mount, type: 'plaintext' })).data;
      assert.equal(Buffer.from(whole.plaintext!, 'base64').length, 32);
      const opened = good(await app.decrypt({ ...mount, ciphertext: whole.ciphertext! })).data;
      assert.equal(opened.plaintext, whole.plaintext);
      const wrapped = good(await app.generateDataKey({ ...mount, type: 'wrapped', bits: 512 })).data;
      assert.equal(wrapped.plaintext, undefined);
      const random = good(
        await app.generateRandom({ mountPath: 'transit', source: 'platform', bytes: 9, format: 'base64' }),
      );
      assert.equal(Buffer.from(random.data.random_bytes, 'base64').length, 9);
      const sum = good(await app.hash({ mountPath: 'transit', algorithm: 'sha2-256', input: b64('x') })).data
        .sum;
      assert.equal(sum, hash('sha256', 'x'));
      assert.ok(good(await app.listKeys({ mountPath: 'transit' })).data.keys.includes('litehex'));
    });

    it('what Vault’s own command and its seal send is understood: PUT, texts for numbers, no body', async () => {
      assert.equal((await ask('PUT', 'transit/keys/seal', undefined, editor)).status, 200);
      await seen('the key is there', 'transit/keys/seal', 200);
      const { body } = await ask('PUT', 'transit/encrypt/seal', {
        plaintext: b64('root key'),
        key_version: '0',
      });
      assert.equal(body.data.ciphertext.split(':').length, 3);
      assert.deepEqual(
        [body.mount_type, body.data.key_version, body.auth, body.wrap_info],
        ['transit', 1, null, null],
      );
      const { ciphertext } = body.data;
      const opened = await ask('PUT', 'transit/decrypt/seal', { ciphertext });
      assert.equal(textOf(opened.body.data.plaintext), 'root key');
      const key = await ask('PUT', 'transit/datakey/plaintext/seal', { bits: '128' });
      assert.equal(Buffer.from(key.body.data.plaintext, 'base64').length, 16);
      assert.equal((await ask('PUT', `${vaultId}/transit/decrypt/seal`, { ciphertext })).status, 200);
      assert.equal((await ask('PUT', 'prod/transit/decrypt/seal', { ciphertext })).status, 404);
      assert.equal((await ask('PUT', 'prod/transit/decrypt/seal', { ciphertext }, editor)).status, 200);
      assert.equal((await ask('GET', 'prod/transit/keys/seal')).body.data.name, 'seal');
      assert.equal((await ask('PUT', 'transit/random/hex', {})).status, 400);
      const random = await ask('POST', 'transit/random/16', { format: 'hex' });
      assert.match(random.body.data.random_bytes, /^[0-9a-f]{32}$/);
      assert.equal((await ask('POST', 'transit/random', { bytes: 0 })).status, 400);
      assert.equal((await ask('POST', 'transit/random/65537')).status, 400);
      assert.equal((await ask('POST', 'transit/random/all/65536')).status, 200);
    });

    async function signed(name: string, said: object, form: RegExp): Promise<Buffer> {
      const { body, text } = await ask('POST', `transit/sign/${name}`, said);
      const { signature } = body.data;
      assert.match(signature, form, text);
      const checked = await ask('POST', `transit/verify/${name}`, { ...said, signature });
      assert.deepEqual(checked.body.data, { valid: true }, checked.text);
      const other = await ask('POST', `transit/verify/${name}`, { ...said, signature, input: b64('else') });
      assert.deepEqual(other.body.data, { valid: false });
      return Buffer.from(signature.split(':')[2], 'base64');
    }

    /** PEM, or the bytes of an Ed25519 key. */
    function publicKeyOf(shown: string) {
      if (shown.startsWith('-----BEGIN PUBLIC KEY')) return createPublicKey(shown);
      const x = Buffer.from(shown, 'base64').toString('base64url');
      return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    }

    it('signatures of every type verify here and elsewhere, in both forms', async () => {
      const input = b64('message');
      const types: [type: string, options: object, digest: string | null][] = [
        ['ecdsa-p256', {}, 'sha256'],
        ['ecdsa-p384', { hash_algorithm: 'sha2-384' }, 'sha384'],
        ['ecdsa-p521', {}, 'sha512'],
        ['ed25519', { hash_algorithm: 'sha2-512' }, null],
        ['rsa-2048', { signature_algorithm: 'pkcs1v15', hash_algorithm: 'sha2-384' }, 'sha384'],
        ['rsa-2048', { salt_length: 'hash' }, 'sha256'],
      ];
      for (const [at, [type, options, digest]] of types.entries()) {
        const name = `signer-${at}`;
        const { keys } = await make(name, { type });
        await seen('the key is there', `transit/keys/${name}`, 200);
        await signed(name, { ...options, marshaling_algorithm: 'jws', input }, /^vault:v1:[\w-]+$/);
        const bytes = await signed(name, { ...options, input }, /^vault:v1:[A-Za-z0-9+/]+=*$/);
        if ('salt_length' in options) continue;
        const publicKey = publicKeyOf(keys['1'].public_key);
        assert.equal(verify(digest, Buffer.from('message'), publicKey, bytes), true, type);
      }
      const inPath = await ask('POST', 'transit/sign/signer-0/sha2-256', { input });
      assert.equal(inPath.status, 200, inPath.text);
      for (const [said, reason] of [
        [{ hash_algorithm: 'sha2-512' }, 'hash_algorithm is not one that this key can be used with'],
        [{ hash_algorithm: 'sha1' }, 'hash_algorithm must be sha2-256, sha2-384 or sha2-512'],
        [{ prehashed: true }, 'prehashed is not supported: send the message itself'],
        [{ prehashed: 'true' }, 'prehashed is not supported: send the message itself'],
        [{ marshaling_algorithm: 'pgp' }, 'marshaling_algorithm must be asn1 or jws'],
        [{ signature_algorithm: 'raw' }, 'signature_algorithm must be pss or pkcs1v15'],
        [{ salt_length: 0 }, 'salt_length must be auto, hash or the length of the hash'],
        [{ key_version: 2 }, 'key_version must be the newest: older versions only verify and decrypt'],
      ] as const) {
        const refused = await ask('POST', 'transit/sign/signer-0', { input, ...said });
        assert.deepEqual([refused.status, refused.body], [400, { errors: [reason] }]);
      }
    });

    it('codes are those of the key, and verify by the version that they name', async () => {
      await make('mac', { type: 'hmac', key_size: '64' });
      await seen('the key is there', 'transit/keys/mac', 200);
      const { body } = await ask('POST', 'transit/hmac/mac/sha2-512', { input: b64('x') });
      const said = { input: b64('x'), hmac: body.data.hmac };
      assert.equal((await ask('POST', 'transit/verify/mac/sha2-512', said)).body.data.valid, true);
      assert.equal((await ask('POST', 'transit/verify/mac/sha2-256', said)).body.data.valid, false);
      assert.equal((await ask('POST', 'transit/verify/mac', { ...said, signature: said.hmac })).status, 400);
      const odd = await ask('POST', 'transit/verify/mac', { ...said, hmac: 'vault:v0:AAAA' });
      assert.deepEqual(odd.body, { errors: ['key_version is not a version that verifies'] });
      const k = Buffer.alloc(32, 5);
      const oct = { key_type: 'HMAC', k: k.toString('base64url') };
      await service.call('POST', '/v1/keys', { vault_id: vaultId, name: 'known', oct });
      await seen('the key is there', 'transit/keys/known', 200);
      const known = await ask('POST', 'transit/hmac/known', { input: b64('x') });
      assert.equal(known.body.data.hmac, `vault:v1:${createHmac('sha256', k).update('x').digest('base64')}`);
    });

    it('batches keep their order, with an error and the reference for each input', async () => {
      await make('batch');
      await seen('the key is there', 'transit/keys/batch', 200);
      const batch_input = [
        { plaintext: b64('one'), reference: 'a', associated_data: b64('row') },
        { plaintext: 'not base64!' },
        { plaintext: b64('three'), context: b64('derived') },
        {},
        { plaintext: b64('five') },
      ];
      const sealed = await ask('POST', 'transit/encrypt/batch', { batch_input });
      assert.equal(sealed.status, 400);
      const results = sealed.body.data.batch_results;
      assert.deepEqual(
        results.map((one: { error?: string; reference?: string }) => one.error ?? one.reference ?? 'made'),
        [
          'a',
          'plaintext must be base64 with padding',
          'context is not supported: keys are not derived here',
          'plaintext is required',
          'made',
        ],
      );
      const whole = [0, 4].map(at => ({ ciphertext: results[at].ciphertext }));
      const opened = await ask('POST', 'transit/decrypt/batch', {
        batch_input: [{ ...whole[0], associated_data: b64('row') }, whole[1]],
      });
      assert.equal(opened.status, 200, opened.text);
      assert.deepEqual(
        opened.body.data.batch_results.map((one: { plaintext: string }) => textOf(one.plaintext)),
        ['one', 'five'],
      );
      const unbound = await ask('POST', 'transit/decrypt/batch', { batch_input: whole });
      assert.deepEqual(
        [unbound.status, unbound.body.data.batch_results[0].error],
        [400, 'ciphertext can’t be decrypted with this key'],
      );
      const rewrapped = await ask('POST', 'transit/rewrap/batch', { batch_input: whole });
      assert.deepEqual([rewrapped.status, 'error' in rewrapped.body.data.batch_results[0]], [200, true]);
      for (const bad of [[], {}, Array(501).fill({}), [1]])
        assert.equal((await ask('POST', 'transit/encrypt/batch', { batch_input: bad })).status, 400);
    });

    it('every failed decryption is answered alike', async () => {
      await make('alike');
      await make('other');
      await seen('the key is there', 'transit/keys/other', 200);
      const { ciphertext } = (await ask('POST', 'transit/encrypt/alike', { plaintext: b64('x') })).body.data;
      const [, , bytes] = ciphertext.split(':');
      const wrong = [
        `vault:v2:${bytes}`,
        `vault:v0:${bytes}`,
        `vault:v1:${bytes.slice(4)}`,
        'vault:v1:',
        (await ask('POST', 'transit/encrypt/other', { plaintext: b64('x') })).body.data.ciphertext,
      ];
      const answers = await Promise.all(
        wrong.map(one => ask('POST', 'transit/decrypt/alike', { ciphertext: one })),
      );
      const shown = new Set(answers.map(({ status, text }) => `${status} ${text}`));
      assert.deepEqual([...shown], ['400 {"errors":["ciphertext can’t be decrypted with this key"]}']);
    });

    it('an access key does what it is restricted to, and manages no keys', async () => {
      await make('guarded');
      await seen('the key is there', 'transit/keys/guarded', 200);
      const plain = await accessKey({});
      const { body } = await ask('POST', 'transit/encrypt/guarded', { plaintext: b64('x') }, plain);
      const { ciphertext } = body.data;
      const denied = { errors: ['Forbidden: the access key may not decrypt with keys'] };
      const refused = await ask('POST', 'transit/decrypt/guarded', { ciphertext }, plain);
      assert.deepEqual([refused.status, refused.body], [403, denied]);
      const unseen = await accessKey({ names: ['else*'], operations: everything });
      for (const name of ['guarded', 'no-such-key']) {
        const { status, body } = await ask('POST', `transit/decrypt/${name}`, { ciphertext }, unseen);
        assert.deepEqual([status, body], [400, { errors: ['encryption key not found'] }]);
        const { status: read } = await ask('GET', `transit/keys/${name}`, undefined, unseen);
        assert.equal(read, 404);
      }
      for (const [method, path] of [
        ['POST', 'transit/keys/new'],
        ['POST', 'transit/keys/guarded/rotate'],
        ['POST', 'transit/keys/guarded/config'],
        ['DELETE', 'transit/keys/guarded'],
      ] as const)
        assert.deepEqual((await ask(method, path, {})).body, { errors: ['permission denied'] });
      const names = await accessKey({ names_only: true, operations: ['encrypt'] });
      assert.equal((await ask('GET', 'transit/keys/guarded', undefined, names)).status, 403);
      assert.equal((await ask('POST', 'transit/encrypt/guarded', { plaintext: '' }, names)).status, 200);
      for (const token of [null, `${worker.slice(0, -8)}00000000`])
        for (const path of ['encrypt/guarded', 'random', 'hash'])
          assert.deepEqual((await ask('POST', `transit/${path}`, {}, token)).body, {
            errors: ['permission denied'],
          });
      const viewer = await service.call('POST', '/v1/api-keys', {
        name: 'v',
        role: 'viewer',
        vault_ids: [vaultId],
      });
      for (const path of ['transit/keys/guarded', 'transit/encrypt/guarded']) {
        const { status } = await ask('POST', path, { plaintext: '' }, viewer.body.token);
        assert.equal(status, 403);
      }
    });

    it('each item counts as a use, and so do random bytes', async () => {
      await make('counted');
      await seen('the key is there', 'transit/keys/counted', 200);
      const thrice = await accessKey({ max_uses: 3 });
      const batch_input = [{ plaintext: '' }, { plaintext: '!' }];
      assert.equal((await ask('POST', 'transit/encrypt/counted', { batch_input }, thrice)).status, 400);
      assert.equal((await ask('POST', 'transit/encrypt/counted', { batch_input }, thrice)).status, 403);
      assert.equal((await ask('POST', 'transit/random', {}, thrice)).status, 200);
      assert.equal((await ask('POST', 'transit/random', {}, thrice)).status, 403);
    });

    it('what isn’t supported is refused, not ignored', async () => {
      await make('strict');
      for (const [path, said, reason] of [
        ['keys/x', { type: 'chacha20-poly1305' }, /^type must be one of/],
        ['keys/x', { derived: true }, /^derived is not supported/],
        ['keys/x', { convergent_encryption: 'true' }, /^convergent_encryption/],
        ['keys/x', { allow_plaintext_backup: true }, /^allow_plaintext_backup/],
        ['keys/x', { auto_rotate_period: '24h' }, /^auto_rotate_period/],
        ['keys/x', { exportable: true }, /^exportable can’t be true/],
        ['keys/x', { type: 'hmac', key_size: 40 }, /^key_size must be 32/],
        ['keys/x', { key_size: 32 }, /^key_size is only used/],
        ['keys/strict', { type: 'rsa-2048' }, /another type/],
        ['keys/strict/config', { min_encryption_version: 1 }, /^min_encryption_version/],
        ['keys/strict/config', { deletion_allowed: false }, /^deletion_allowed/],
        ['keys/strict/config', { min_decryption_version: 2 }, /^min_version must be at most/],
        ['encrypt/strict', { plaintext: '', nonce: 'AAAA' }, /^nonce/],
        ['rewrap/strict', { ciphertext: 'vault:v1:AAAA', key_version: 1 }, /^key_version/],
        ['decrypt/strict', { ciphertext: 'AAAA' }, /^ciphertext must begin with vault:v/],
        ['datakey/plaintext/strict', { bits: 1 }, /^bits/],
        ['hash', { input: b64('x'), batch_input: [{}] }, /^batch_input/],
        ['hash/md5', { input: b64('x') }, /^algorithm/],
        ['hash', {}, /^input is required/],
      ] as const) {
        const { status, body } = await ask('POST', `transit/${path}`, said, editor);
        assert.equal(status, 400, path);
        assert.match(body.errors[0], reason);
      }
      const again = await ask('POST', 'transit/keys/strict', {}, editor);
      assert.deepEqual(again.body.warnings, ['a key of this name already existed']);
      const unmade = ['transit/backup/strict', 'transit/export/encryption-key/strict', 'transit/keys/a/b/c'];
      for (const path of unmade) assert.equal((await ask('GET', path)).status, 404);
      assert.equal((await ask('GET', 'transit/encrypt/strict')).status, 405);
      const wrapped = await ask('POST', 'transit/random', {}, worker, { 'x-vault-wrap-ttl': '60' });
      assert.equal(wrapped.status, 400);
      const large = { plaintext: b64('x'.repeat(90_000)) };
      const tooLong = await ask('POST', 'transit/encrypt/strict', large);
      assert.deepEqual(tooLong.body, { errors: ['plaintext must be at most 64 KiB'] });
    });

    it('everything is in the log before it is answered, without inputs and names in routes', async () => {
      await make('logged');
      await seen('the key is there', 'transit/keys/logged', 200);
      const plaintext = b64('in no log');
      const answer = await ask('POST', 'transit/encrypt/logged', { plaintext });
      assert.equal(answer.status, 200);
      const { data } = (await service.call('GET', '/v1/request-logs?limit=5')).body;
      const [entry] = data;
      assert.equal(entry.receipt, answer.headers.get('strongroom-receipt'));
      assert.equal(answer.headers.get('x-request-id'), answer.body.request_id);
      assert.equal(entry.route, '/vault/v1/transit/encrypt/{key}');
      assert.match(entry.requested, /^key=encrypt A256GCM version=1 items=1 bytes=9 answered=\d+ logged$/);
      await ask('POST', 'transit/encrypt/logged', { plaintext: '!' });
      await ask('POST', 'transit/random', {});
      const [random, refused] = (await service.call('GET', '/v1/request-logs?limit=2')).body.data;
      assert.deepEqual(
        [random.route, random.status, refused.route, refused.status],
        ['/vault/v1/transit/random', 200, '/vault/v1/transit/encrypt/{key}', 400],
      );
      assert.equal((await ask('POST', 'transit/encrypt/logged', { plaintext }, editor)).status, 200);
      const [used] = (await service.call('GET', '/v1/audit-logs?limit=1')).body.data;
      assert.equal(used.action, 'key.used');
      for (const shown of [JSON.stringify(data), JSON.stringify(used)])
        assert.equal(shown.includes(plaintext), false);
    });
  });
}
