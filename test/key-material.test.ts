import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, test } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import type { KeySpecification } from '../src/contract/keys.ts';
import { generateKey, importKey } from '../src/material/key-material.ts';
import { works } from '../src/material/key-proof.ts';
import { rc2Blocks } from '../src/material/rc2.ts';
import { bits, ids, int, octets, oid, pbes2, pbkdf2, pem, scrypt, seq, tlv, unpem } from './der-build.ts';
import { isImmediate } from './effort.ts';
import vectors from './vectors/material.json' with { type: 'json' };

const files = vectors.pem;
const passphrase = 'modern-pass';

const specs: [KeySpecification, size: number, curve: string | null][] = [
  [{ key_type: 'RSA', key_size: 2048 }, 2048, null],
  [{ key_type: 'RSA', key_size: 3072 }, 3072, null],
  [{ key_type: 'EC', curve: 'P-256' }, 256, 'P-256'],
  [{ key_type: 'EC', curve: 'P-384' }, 384, 'P-384'],
  [{ key_type: 'EC', curve: 'P-521' }, 521, 'P-521'],
  [{ key_type: 'EC', curve: 'secp256k1' }, 256, 'secp256k1'],
  [{ key_type: 'OKP', curve: 'Ed25519' }, 256, 'Ed25519'],
  [{ key_type: 'OKP', curve: 'X25519' }, 256, 'X25519'],
  [{ key_type: 'ML-DSA', key_size: 44 }, 44, null],
  [{ key_type: 'ML-DSA', key_size: 65 }, 65, null],
  [{ key_type: 'ML-DSA', key_size: 87 }, 87, null],
  [{ key_type: 'ML-KEM', key_size: 512 }, 512, null],
  [{ key_type: 'ML-KEM', key_size: 768 }, 768, null],
  [{ key_type: 'ML-KEM', key_size: 1024 }, 1024, null],
];

async function refused(promise: Promise<unknown>, field: string, reason: RegExp): Promise<void> {
  const failure = await promise.then(
    () => assert.fail('it was accepted'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof Failure, `another error: ${failure}`);
  assert.equal(failure.code, 'INVALID_REQUEST');
  assert.equal(failure.field, field);
  assert.match(failure.reason, reason);
}

describe('a key of each kind, generated, comes back the same', () => {
  for (const [spec, keySize, curve] of specs)
    test(JSON.stringify(spec), async () => {
      const made = await generateKey(spec);
      assert.deepEqual(
        { ...made, pem: '', publicPem: '' },
        {
          holds: 'private',
          keyType: spec.key_type,
          keySize,
          curve,
          pem: '',
          publicPem: '',
        },
      );
      assert.match(made.pem, /^-----BEGIN PRIVATE KEY-----\n/);
      assert.match(made.publicPem, /^-----BEGIN PUBLIC KEY-----\n/);
      assert.deepEqual(await importKey(made.pem), made);
      const half = await importKey(made.publicPem);
      assert.deepEqual(half, { ...made, holds: 'public', pem: made.publicPem });
      const locked = createPrivateKey(made.pem).export({
        format: 'pem',
        type: 'pkcs8',
        cipher: 'aes-256-cbc',
        passphrase,
      });
      assert.deepEqual(await importKey(locked as string, passphrase), made);
    });
});

for (const curve of ['P-256', 'P-384', 'P-521', 'secp256k1']) {
  test(`a ${curve} key with the public half of another is refused because it does not work with it`, async () => {
    const [one, other] = [1, 2].map(() => generateKeyPairSync('ec', { namedCurve: curve }));
    const point = ({ publicKey }: { publicKey: KeyObject }) => {
      const { x, y } = publicKey.export({ format: 'jwk' });
      return Buffer.concat([Buffer.from([4]), Buffer.from(x!, 'base64url'), Buffer.from(y!, 'base64url')]);
    };
    for (const [type, label] of [
      ['pkcs8', 'PRIVATE KEY'],
      ['sec1', 'EC PRIVATE KEY'],
    ] as const) {
      const der = one!.privateKey.export({ format: 'der', type });
      const at = der.indexOf(point(one!));
      point(other!).copy(der, at);
      assert.ok(at > 0 && !works(createPrivateKey({ key: der, format: 'der', type }), { curve } as never));
      await refused(importKey(pem(label, der)), 'pem', /does not work with its public key/);
    }
  });
}

describe('an import accepts', () => {
  const rsaKey = createPrivateKey(files.rsa_pkcs8);
  const sameAs = async (text: string, key: KeyObject, secret?: string) => {
    const imported = await importKey(text, secret);
    assert.ok(createPrivateKey(imported.pem).equals(key));
    assert.ok(createPublicKey(imported.publicPem).equals(createPublicKey(key)));
  };
  const leafKey = createPrivateKey(files.pkcs8);

  test('PKCS#1', () => sameAs(files.rsa_pkcs1, rsaKey));
  test('SEC1 with its parameters before it', () => sameAs(files.sec1_with_parameters, leafKey));
  test('PKCS#8 locked with scrypt', () => sameAs(files.scrypt, leafKey, passphrase));
  test('PKCS#8 locked with PKCS#12 3DES', () => sameAs(files.pbe_3des, leafKey, passphrase));
  test('legacy encrypted PEM', () => sameAs(files.legacy_encrypted, leafKey, passphrase));
  test('CRLF line ends, a byte order mark and blanks around', () =>
    sameAs(`\ufeff\r\n  ${files.pkcs8.replaceAll('\n', '  \r\n')}\r\n`, leafKey));
  test('a body in one line', () =>
    sameAs(
      `-----BEGIN PRIVATE KEY-----\n${unpem(files.pkcs8).toString('base64')}\n-----END PRIVATE KEY-----`,
      leafKey,
    ));
  test('a passphrase that is not needed', () => sameAs(files.pkcs8, leafKey, 'unused'));

  for (const cipher of ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc', 'des-ede3-cbc'])
    test(`PKCS#8 and legacy PEM locked with ${cipher}`, async () => {
      const options = { format: 'pem', cipher, passphrase: 'pässwörd' } as const;
      await sameAs(rsaKey.export({ ...options, type: 'pkcs8' }) as string, rsaKey, 'pässwörd');
      await sameAs(rsaKey.export({ ...options, type: 'pkcs1' }) as string, rsaKey, 'pässwörd');
    });

  test('a PKCS#1 public key, given back as SPKI', async () => {
    const imported = await importKey(files.rsa_pkcs1_public);
    assert.equal(imported.holds, 'public');
    assert.equal(imported.publicPem, (await importKey(files.rsa_pkcs8)).publicPem);
  });

  test('a compressed EC point, given back uncompressed', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const { x, y } = publicKey.export({ format: 'jwk' });
    const sign = Buffer.from([2 + (Buffer.from(y!, 'base64url').at(-1)! & 1)]);
    const point = Buffer.concat([sign, Buffer.from(x!, 'base64url')]);
    const imported = await importKey(pem('PUBLIC KEY', seq(seq(oid(ids.ec), oid(ids.p256)), bits(point))));
    assert.equal(imported.publicPem, publicKey.export({ format: 'pem', type: 'spki' }));
  });

  test('a PKCS#8 of version 2 with its own public half', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const secret = Buffer.from(privateKey.export({ format: 'jwk' }).d!, 'base64url');
    const half = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
    const der = seq(int(1), seq(oid(ids.ed25519)), octets(octets(secret)), tlv(0x81, Buffer.from([0]), half));
    const imported = await importKey(pem('PRIVATE KEY', der));
    assert.ok(createPublicKey(imported.publicPem).equals(publicKey));
  });
});

describe('an import says what is wrong', () => {
  const lockedWith = (algorithm: Buffer) =>
    pem('ENCRYPTED PRIVATE KEY', seq(algorithm, octets(Buffer.alloc(160))));
  const rsa = (size: number) =>
    pem(
      'PUBLIC KEY',
      seq(seq(oid(ids.rsa), Buffer.from([5, 0])), bits(seq(int((1n << BigInt(size - 1)) + 1n), int(65537)))),
    );

  const cases: [name: string, text: string, secret: string | undefined, field: string, reason: RegExp][] = [
    ['a missing passphrase', files.scrypt, undefined, 'passphrase', /required/],
    ['a wrong passphrase', files.scrypt, 'wrong', 'passphrase', /wrong/],
    ['a missing passphrase of a legacy key', files.legacy_encrypted, undefined, 'passphrase', /required/],
    ['a wrong passphrase of a legacy key', files.legacy_encrypted, 'wrong', 'passphrase', /wrong/],
    ['no PEM', 'hello', undefined, 'pem', /outside/],
    ['several keys', files.pkcs8 + files.rsa_pkcs8, undefined, 'pem', /more than one key/],
    ['rubbish after the key', `${files.pkcs8}rubbish`, undefined, 'pem', /text outside/],
    ['too much', 'x'.repeat(70_000), undefined, 'pem', /larger than 65536 bytes/],
    ['a certificate', files.leaf, undefined, 'pem', /not a key/],
    ['an algorithm', files.ed448, undefined, 'pem', /algorithm that is not supported/],
    ['a curve', files.brainpool, undefined, 'pem', /curve that is not supported/],
    ['explicit curve parameters', files.explicit_curve, undefined, 'pem', /curve that is not supported/],
    ['a small RSA key', files.rsa_512, undefined, 'pem', /2048 to 8192/],
    ['a huge RSA key', rsa(32_768), undefined, 'pem', /2048 to 8192/],
    ['a million and one iterations', lockedWith(pbes2(pbkdf2(1_000_001))), 'x', 'pem', /iteration count/],
    ['scrypt beyond its memory', lockedWith(pbes2(scrypt(2 ** 17, 8, 1))), 'x', 'pem', /scrypt/],
  ];
  for (const [name, text, secret, field, reason] of cases)
    test(name, () => refused(importKey(text, secret), field, reason));
});

test('absurd costs are refused before anything is derived, even without a passphrase', async () => {
  const text = pem('ENCRYPTED PRIVATE KEY', seq(pbes2(pbkdf2(2 ** 31)), octets(Buffer.alloc(160))));
  const refusing = () => refused(importKey(text), 'pem', /iteration count/);
  assert.ok(await isImmediate(refusing), 'nothing was derived');
});

test('RC2 passes the vectors of RFC 2268', () => {
  const long = '88bca90e90875a7f0f79c384627bafb2';
  const cases: [key: string, bits: number, plain: string, cipher: string][] = [
    ['0000000000000000', 63, '0000000000000000', 'ebb773f993278eff'],
    ['ffffffffffffffff', 64, 'ffffffffffffffff', '278b27e42e2f0d49'],
    ['3000000000000000', 64, '1000000000000001', '30649edf9be7d2c2'],
    ['88', 64, '0000000000000000', '61a8a244adacccf0'],
    ['88bca90e90875a', 64, '0000000000000000', '6ccf4308974c267f'],
    [long, 64, '0000000000000000', '1a807d272bbe5db1'],
    [long, 128, '0000000000000000', '2269552ab0f85ca6'],
    [`${long}16f80a6f85920584c42fceb0be255daf1e`, 129, '0000000000000000', '5b78d3a43dfff1f1'],
  ];
  for (const [key, size, plain, cipher] of cases)
    assert.equal(rc2Blocks(Buffer.from(key, 'hex'), size, Buffer.from(cipher, 'hex')).toString('hex'), plain);
});
