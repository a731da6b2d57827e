/** The algorithms of keys at work, by the examples of their specifications and with jose as the other side. */
import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  CompactEncrypt,
  compactDecrypt,
  compactVerify,
  exportPKCS8,
  exportSPKI,
  generateKeyPair,
} from 'jose';
import { abilitiesOf } from '../src/contract/key-abilities.ts';
import { keyOperations } from '../src/contract/use-names.ts';
import { decryptWithAes, encryptWithAes, versionNamedIn } from '../src/material/operations/encryption.ts';
import { type KeyJob, operateKey } from '../src/material/operations/key-operations.ts';
import { isMacOf, macWith, signerOf, verifierOf } from '../src/material/operations/signatures.ts';
import { concatKdf, unwrapWithAes, wrapWithAes } from '../src/material/operations/wrapping.ts';

const b64 = (text: string) => Buffer.from(text, 'base64url');
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const binding = { keyId: '0199a3c4-1111-7abc-8def-0123456789ab', version: 3 };
const none = Buffer.alloc(0);

const pair = (key: object) => {
  const privateKey = createPrivateKey({ key, format: 'jwk' } as never);
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }) as string;
  return { pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, spki };
};
const pemsOf = (type: string, options: object = {}) => {
  const generate = generateKeyPairSync as unknown as (
    type: string,
    options: object,
  ) => Record<'publicKey' | 'privateKey', KeyObject>;
  const { privateKey, publicKey } = generate(type, options);
  return {
    pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    spki: publicKey.export({ type: 'spki', format: 'pem' }) as string,
  };
};
const jobOf = (keyType: string, { pem, spki }: { pem: string | null; spki: string }): KeyJob => ({
  operation: 'sign',
  keyId: binding.keyId,
  versions: [{ version: 1, keyType, value: pem, publicPem: spki }],
  inputs: [],
});
async function one(job: KeyJob, operation: KeyJob['operation'], input: object) {
  const [output] = await operateKey({ ...job, operation, inputs: [{ version: 1, ...input } as never] });
  return output as Record<string, string> & { refused?: { field: string; reason: string } };
}

describe('signatures and authentication codes', () => {
  it('are those of RFC 7515 A.1 (HS256) and A.3 (ES256), and of RFC 8037 A.4 (EdDSA)', () => {
    const k = b64('AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow');
    const signed =
      'eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ';
    const mac = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
    assert.equal(macWith(k, 'HS256', Buffer.from(signed)).toString('base64url'), mac);
    assert.equal(isMacOf(k, 'HS256', Buffer.from(signed), b64(mac)), true);
    assert.equal(isMacOf(k, 'HS256', Buffer.from(`${signed}x`), b64(mac)), false);
    assert.equal(isMacOf(k, 'HS256', Buffer.from(signed), b64(mac).subarray(1)), false);

    const p256 = pair({
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
      d: 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI',
    });
    const esSigned =
      'eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ';
    const es = 'DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q';
    assert.equal(verifierOf(p256.spki)('ES256', Buffer.from(esSigned), b64(es)), true);
    assert.equal(verifierOf(p256.spki)('ES256', Buffer.from(`${esSigned}x`), b64(es)), false);

    const ed = pair({
      kty: 'OKP',
      crv: 'Ed25519',
      d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
      x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    });
    assert.equal(
      signerOf(ed.pem)(
        'EdDSA',
        Buffer.from('eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc'),
      ).toString('base64url'),
      'hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg',
    );
  });

  it('are those of NIST and RFC 4231 for HMAC, of which no key is shorter than its digest', () => {
    const key = Buffer.alloc(131, 0xaa);
    const text = Buffer.from('Test Using Larger Than Block-Size Key - Hash Key First');
    assert.equal(
      macWith(key, 'HS256', text).toString('hex'),
      '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    );
    assert.equal(
      macWith(key, 'HS512', text).toString('hex'),
      '80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598',
    );
    assert.throws(() => macWith(Buffer.alloc(47), 'HS384', text), { field: 'alg' });
    assert.throws(() => macWith(Buffer.alloc(63), 'HS512', text), { field: 'alg' });
  });

  it('are made by each algorithm with its own kind of keys, and with no other', async () => {
    const keys = {
      PS256: ['RSA', pemsOf('rsa', { modulusLength: 2048 })],
      ES384: ['EC', pemsOf('ec', { namedCurve: 'P-384' })],
      ES512: ['EC', pemsOf('ec', { namedCurve: 'P-521' })],
      ES256K: ['EC', pemsOf('ec', { namedCurve: 'secp256k1' })],
      EdDSA: ['OKP', pemsOf('ed25519')],
      'ML-DSA-44': ['ML-DSA', pemsOf('ml-dsa-44')],
      'ML-DSA-65': ['ML-DSA', pemsOf('ml-dsa-65')],
      'ML-DSA-87': ['ML-DSA', pemsOf('ml-dsa-87')],
    } as const;
    const value = b64('aGVsbG8').toString('base64url');
    for (const [alg, [type, pems]] of Object.entries(keys)) {
      const job = jobOf(type, pems);
      const { value: signature } = await one(job, 'sign', { alg, value });
      const publicJob = jobOf(type, { pem: null, spki: pems.spki });
      const verify = (said: object) => one(publicJob, 'verify', { alg, value, signature, ...said });
      assert.equal((await verify({})).valid, true, alg);
      assert.equal((await verify({ value: 'aGVsbG9v' })).valid, false, alg);
      assert.equal((await verify({ signature: 'AAAA' })).valid, false, alg);
      assert.equal((await one(publicJob, 'sign', { alg, value })).refused?.field, 'key', alg);
      for (const other of Object.keys(keys).filter(name => name !== alg))
        assert.equal(
          (await one(job, 'sign', { alg: other, value })).refused?.field,
          'alg',
          `${alg} ${other}`,
        );
    }
  });
});

describe('wrapping', () => {
  it('is that of RFC 3394 4.6, and the agreement that of RFC 7518 C', () => {
    const kek = hex('000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F');
    const data = hex('00112233445566778899AABBCCDDEEFF000102030405060708090A0B0C0D0E0F');
    const wrapped = hex('28C9F404C4B810F4CBCCB35CFB87F8263F5786E2D80ED326 CBC7F0E71A99F43BFB988B9B7A02DD21');
    assert.deepEqual(wrapWithAes(kek, data), wrapped);
    assert.deepEqual(unwrapWithAes(kek, wrapped), data);
    const z = [
      158, 86, 217, 29, 129, 113, 53, 211, 114, 131, 66, 131, 191, 132, 38, 156, 251, 49, 110, 163, 218, 128,
      106, 72, 246, 218, 167, 121, 140, 254, 144, 196,
    ];
    const info: [Buffer, Buffer] = [Buffer.from('Alice'), Buffer.from('Bob')];
    assert.equal(
      concatKdf(Buffer.from(z), 'A128GCM', 128, info).toString('base64url'),
      'VqqN6vgjbSBcIijNcacQGg',
    );
  });

  it('works with jose: what it encrypts with a public key is unwrapped here', async () => {
    const payload = Buffer.from('a payload');
    for (const [type, alg, crv] of [
      ['EC', 'ECDH-ES+A256KW', 'P-256'],
      ['EC', 'ECDH-ES+A256KW', 'P-521'],
      ['OKP', 'ECDH-ES+A256KW', 'X25519'],
      ['RSA', 'RSA-OAEP-256', undefined],
    ] as const) {
      const keys = await generateKeyPair(alg, { extractable: true, ...(crv && { crv }) });
      const jwe = await new CompactEncrypt(payload)
        .setProtectedHeader({ alg, enc: 'A256GCM' })
        .encrypt(keys.publicKey);
      const [head, encryptedKey] = jwe.split('.') as [string, string];
      const { epk } = JSON.parse(b64(head).toString()) as { epk?: object };
      const job = jobOf(type, {
        pem: await exportPKCS8(keys.privateKey),
        spki: await exportSPKI(keys.publicKey),
      });
      const { value: cek } = await one(job, 'unwrap', { alg, value: encryptedKey, epk });
      assert.equal(b64(cek!).length, 32, `${alg} ${crv}`);
      // And the other way: a content key that is wrapped here is unwrapped there.
      const wrapped = await one(job, 'wrap', { alg, value: cek });
      const header = { alg, enc: 'A256GCM', ...(wrapped.epk && { epk: wrapped.epk }) };
      const rebuilt = await rebuild(cek!, header, wrapped.value!, payload);
      const { plaintext } = await compactDecrypt(rebuilt, keys.privateKey);
      assert.equal(Buffer.from(plaintext).toString(), 'a payload', `${alg} ${crv}`);
    }
  });

  it('takes keys alone, and refuses every wrong input alike', async () => {
    const kem = jobOf('ML-KEM', pemsOf('ml-kem-768'));
    const alg = 'ML-KEM-768+A192KW';
    const value = Buffer.alloc(32, 7).toString('base64url');
    const wrapped = await one(kem, 'wrap', { alg, value });
    assert.equal((await one(kem, 'unwrap', { alg, value: wrapped.value, ek: wrapped.ek })).value, value);
    const refusal = { field: 'value', reason: 'can’t be decrypted with this key' };
    const x25519 = jobOf('OKP', pemsOf('x25519'));
    const agreement = 'ECDH-ES+A256KW';
    const lowOrder = { kty: 'OKP', crv: 'X25519', x: Buffer.alloc(32).toString('base64url') };
    for (const [job, said] of [
      [kem, { alg, value: wrapped.value, ek: 'AAAA' }],
      [kem, { alg, value: wrapped.value }],
      [kem, { alg, value: 'AAAA', ek: wrapped.ek }],
      [x25519, { alg: agreement, value: wrapped.value }],
      [x25519, { alg: agreement, value: wrapped.value, epk: lowOrder }],
      [x25519, { alg: agreement, value: wrapped.value, epk: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } }],
    ] as const)
      assert.deepEqual((await one(job, 'unwrap', said)).refused, refusal, JSON.stringify(said));
    assert.equal((await one(kem, 'wrap', { alg, value: 'AAAA' })).refused?.field, 'value');
  });
});

async function rebuild(cek: string, header: object, encryptedKey: string, payload: Buffer): Promise<string> {
  const protectedHeader = Buffer.from(JSON.stringify(header)).toString('base64url');
  const key = await crypto.subtle.importKey('raw', b64(cek), 'AES-GCM', false, ['encrypt']);
  const iv = Buffer.alloc(12, 1);
  const params = { name: 'AES-GCM', iv, additionalData: Buffer.from(protectedHeader) };
  const sealed = Buffer.from(await crypto.subtle.encrypt(params, key, new Uint8Array(payload)));
  const parts = [b64(protectedHeader), b64(encryptedKey), iv, sealed.subarray(0, -16), sealed.subarray(-16)];
  return parts.map(part => part.toString('base64url')).join('.');
}

describe('encryption with AES', () => {
  const key = Buffer.alloc(32, 5);

  it('has a data key of its own for each ciphertext, and names its version', () => {
    const texts = Array.from({ length: 50 }, () => encryptWithAes(key, binding, Buffer.from('x'), none));
    assert.equal(new Set(texts.map(text => text.subarray(5, 37).toString('hex'))).size, 50);
    assert.equal(new Set(texts.map(text => text.subarray(37).toString('hex'))).size, 50);
    assert.deepEqual(new Set(texts.map(versionNamedIn)), new Set([3]));
    assert.equal(versionNamedIn(Buffer.alloc(10)), null);
    for (const text of texts) assert.equal(decryptWithAes(key, binding, text, none).toString(), 'x');
  });

  it('is still that of this vector: HKDF-SHA-256 over key and salt, then AES-256-GCM', async () => {
    const frozen = b64('AQAAAAMt8M27AX1gYY0IIV_S7qHyehldWetPeiS3qssgMPu0r2aOC9R_nEp2ChBp5m6d_2LjZE4QWMA');
    const aad = Buffer.from('row 7');
    assert.equal(decryptWithAes(key, binding, frozen, aad).toString(), 'frozen');
    const hkdf = await crypto.subtle.importKey('raw', key, 'HKDF', false, ['deriveBits']);
    const info = JSON.stringify(['strongroom data key v1', binding.keyId, 3, 'A256GCM']);
    const derivation = {
      name: 'HKDF',
      hash: 'SHA-256',
      salt: frozen.subarray(5, 37),
      info: Buffer.from(info),
    };
    const bits = Buffer.from(await crypto.subtle.deriveBits(derivation, hkdf, 352));
    const dataKey = await crypto.subtle.importKey('raw', bits.subarray(0, 32), 'AES-GCM', false, ['decrypt']);
    const gcm = { name: 'AES-GCM', iv: bits.subarray(32), additionalData: aad };
    const opened = await crypto.subtle.decrypt(gcm, dataKey, new Uint8Array(frozen.subarray(37)));
    assert.equal(Buffer.from(opened).toString(), 'frozen');
  });

  it('is bound to key, version, additional data and every byte, and fails alike', () => {
    const aad = Buffer.from('row 7');
    const sealed = encryptWithAes(key, binding, Buffer.from('a secret'), aad);
    assert.equal(decryptWithAes(key, binding, sealed, aad).toString(), 'a secret');
    const flipped = Array.from(sealed, (_, at) => {
      const copy = Buffer.from(sealed);
      copy[at]! ^= 1;
      return copy;
    });
    const wrong: [Uint8Array, typeof binding, Buffer, Buffer][] = [
      [Buffer.alloc(32, 6), binding, sealed, aad],
      [key, { ...binding, version: 4 }, sealed, aad],
      [key, { ...binding, keyId: '0199a3c4-2222-7abc-8def-0123456789ab' }, sealed, aad],
      [key, binding, sealed, none],
      [key, binding, sealed.subarray(0, -1), aad],
      [key, binding, none, aad],
      ...flipped.map(bytes => [key, binding, bytes, aad] as [Uint8Array, typeof binding, Buffer, Buffer]),
    ];
    const refusals = wrong.map(([k, place, bytes, data]) => {
      try {
        decryptWithAes(k, place, bytes, data);
      } catch (error) {
        return `${(error as { field: string }).field} ${(error as { reason: string }).reason}`;
      }
      return 'opened';
    });
    assert.deepEqual(new Set(refusals), new Set(['value can’t be decrypted with this key']));
  });

  it('takes as long for a malformed ciphertext as for a forged one', () => {
    const forged = encryptWithAes(key, binding, Buffer.alloc(2_000), none);
    forged[100]! ^= 1;
    const malformed = Buffer.from(forged);
    malformed[0] = 9;
    const cost = (bytes: Buffer) => {
      const started = process.hrtime.bigint();
      assert.throws(() => decryptWithAes(key, binding, bytes, none));
      return Number(process.hrtime.bigint() - started);
    };
    const least = (bytes: Buffer) => Math.min(...Array.from({ length: 400 }, () => cost(bytes)));
    least(forged);
    const ratio = least(malformed) / least(forged);
    assert.ok(ratio > 0.7 && ratio < 1.4, String(ratio));
  });
});

describe('what a key can do', () => {
  it('has neither RSA1_5 nor SHA-1, and nothing for a key that is unknown', () => {
    const kinds = [
      ['RSA', 2048, null],
      ['EC', 256, 'P-256'],
      ['EC', 256, 'secp256k1'],
      ['OKP', 256, 'Ed25519'],
      ['OKP', 256, 'X25519'],
      ['ML-DSA', 65, null],
      ['ML-KEM', 768, null],
      ['AES', 256, null],
      ['HMAC', 256, null],
    ] as const;
    const all = kinds.map(([key_type, key_size, curve]) =>
      abilitiesOf({ key_type, key_size, curve, has_private_key: true }),
    );
    const names = new Set(all.flatMap(one => Object.values(one).flat()));
    assert.equal(names.has('RSA-OAEP' as never) || names.has('RSA1_5' as never), false);
    assert.deepEqual(new Set(all.flatMap(one => Object.keys(one))), new Set(keyOperations));
    assert.deepEqual(all.at(-1), { mac: ['HS256'], verify: ['HS256'] });
    const publicRsa = { key_type: 'RSA', key_size: 2048, curve: null, has_private_key: false };
    assert.deepEqual(Object.keys(abilitiesOf(publicRsa)).sort(), ['encrypt', 'verify', 'wrap']);
    assert.deepEqual(abilitiesOf({ ...publicRsa, key_type: 'DSA' }), {});
  });

  it('is signed here and verified by jose', async () => {
    const keys = await generateKeyPair('PS256', { extractable: true });
    const job = jobOf('RSA', {
      pem: await exportPKCS8(keys.privateKey),
      spki: await exportSPKI(keys.publicKey),
    });
    const head = b64('').toString() + Buffer.from('{"alg":"PS256"}').toString('base64url');
    const input = `${head}.aGVsbG8`;
    const { value } = await one(job, 'sign', {
      alg: 'PS256',
      value: Buffer.from(input).toString('base64url'),
    });
    const { payload } = await compactVerify(`${input}.${value}`, keys.publicKey);
    assert.equal(Buffer.from(payload).toString(), 'hello');
  });
});
