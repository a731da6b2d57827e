/**
 * The zoo: key and certificate files that no honest tool writes. Each must be refused, whichever way it
 * comes in, with INVALID_REQUEST and nothing of itself in the answer, and quickly.
 */
import { createHmac } from 'node:crypto';
import {
  bag,
  bits,
  certificateBag,
  ids,
  int,
  lockedSafe,
  macData,
  nil,
  octets,
  oid,
  pbes2,
  pbkdf2,
  pem,
  pfx,
  plainSafe,
  scrypt,
  seq,
  set,
  tlv,
  unpem,
  wrap,
} from './der-build.ts';
import vectors from './vectors/material.json' with { type: 'json' };

export type Animal =
  | {
      readonly name: string;
      readonly kind: 'key' | 'certificate';
      readonly input: string;
      readonly passphrase?: string;
    }
  | { readonly name: string; readonly kind: 'pkcs12'; readonly input: Buffer; readonly passphrase?: string };

const { pem: files, pkcs12: p12 } = vectors;
const passphrase = 'modern-pass';

const ecKey = unpem(files.pkcs8);
const rsaKey = unpem(files.rsa_pkcs8);
const rsaPublic = unpem(files.rsa_pkcs1_public);
const leaf = unpem(files.leaf);
const selfSigned = unpem(files.rsa_self_signed);
const modern = Buffer.from(p12.modern.base64, 'base64');
const legacy = Buffer.from(p12['legacy-rc2-40'].base64, 'base64');

const key = (name: string, input: string, secret?: string): Animal =>
  secret === undefined ? { name, kind: 'key', input } : { name, kind: 'key', input, passphrase: secret };
const derKey = (name: string, label: string, der: Uint8Array, secret?: string): Animal =>
  key(name, pem(label, der), secret);
const certificate = (name: string, input: string): Animal => ({ name, kind: 'certificate', input });
const derCertificate = (name: string, der: Uint8Array): Animal => certificate(name, pem('CERTIFICATE', der));
const pkcs12 = (name: string, input: Buffer, secret: string = passphrase): Animal => ({
  name,
  kind: 'pkcs12',
  input,
  passphrase: secret,
});

/** Offsets spread over a file, its first and last bytes among them. */
const spread = (length: number, pieces: number): number[] =>
  Array.from({ length: pieces }, (_, i) => Math.floor((i * (length - 1)) / (pieces - 1)));

const truncated = (bytes: Buffer, pieces: number): [string, Buffer][] =>
  spread(bytes.length, pieces).map(at => [`cut off after ${at} bytes`, bytes.subarray(0, at)]);

const flipped = (bytes: Buffer, pieces: number, spared = (_at: number) => false): [string, Buffer][] =>
  spread(bytes.length, pieces)
    .filter(at => !spared(at))
    .map((at, i) => {
      const copy = Buffer.from(bytes);
      copy[at] = copy[at]! ^ (1 << (i % 8));
      return [`bit ${i % 8} of byte ${at} flipped`, copy];
    });

/** Where the frozen self-signed certificate has its names: with another issuer it is nobody's to verify. */
const inNames = (at: number): boolean => (at >= 50 && at < 75) || (at >= 109 && at < 134);

const indefinite = (depth: number): Buffer =>
  Buffer.concat([Buffer.alloc(2 * depth, Buffer.from([0x30, 0x80])), Buffer.alloc(2 * depth)]);

function nested(depth: number): Buffer {
  let der = nil();
  for (let i = 0; i < depth; i++) der = seq(der);
  return der;
}

/** Ways to break any DER file. */
const brokenDer: [string, Buffer][] = [
  ['nothing but a null', nil()],
  ['an empty sequence', seq()],
  ['a sequence of a thousand nulls', seq(...Array.from({ length: 1000 }, nil))],
  ['thirty thousand nulls', seq(Buffer.alloc(44_000, Buffer.from([5, 0])))],
  ['nested indefinite lengths', indefinite(50)],
  ['two thousand nested indefinite lengths', indefinite(2000)],
  ['a depth bomb of 30', nested(30)],
  ['a depth bomb of 10,000', nested(10_000)],
  ['a length of four gigabytes', Buffer.from('3084ffffffff0201', 'hex')],
  ['a length of eight bytes', Buffer.from('3088ffffffffffffffff0201', 'hex')],
  ['a length of 127 bytes', Buffer.concat([Buffer.from([0x30, 0xff]), Buffer.alloc(127, 0xff)])],
  ['a length that is one too long', Buffer.from('3004020100', 'hex')],
  ['a length that is not minimal', Buffer.from('308103020100', 'hex')],
  ['a length with leading zeros', Buffer.from('30820003020100', 'hex')],
  [
    'an integer that is not minimal',
    seq(tlv(2, Buffer.from([0, 1])), seq(oid(ids.rsa), nil()), octets(nil())),
  ],
  ['an integer without bytes', seq(tlv(2), seq(oid(ids.rsa), nil()), octets(nil()))],
  ['an identifier that never ends', seq(int(0), seq(tlv(6, Buffer.alloc(20, 0xff))), octets(nil()))],
  ['a high tag number', Buffer.from('3f8101020500', 'hex')],
  ['a string in pieces', seq(int(0), seq(oid(ids.rsa), nil()), tlv(0x24, octets(nil())))],
  ['random-looking bytes', createHmac('sha512', 'zoo').update('1').digest()],
  ['zeros', Buffer.alloc(256)],
  ['0xff throughout', Buffer.alloc(256, 0xff)],
];

const trailing = (bytes: Buffer): [string, Buffer][] => [
  ['a byte after the end', Buffer.concat([bytes, Buffer.from([0])])],
  ['itself twice', Buffer.concat([bytes, bytes])],
  [
    'an indefinite outer length',
    Buffer.concat([Buffer.from([0x30, 0x80]), bytes.subarray(4), Buffer.alloc(2)]),
  ],
];

/** Ways to break any PEM file. `good` is a block that would be accepted as it is. */
function brokenPem(good: string): [string, string][] {
  const label = /BEGIN ([A-Z ]+)-/.exec(good)![1]!;
  const body = good.split('\n').slice(1, -2);
  const framed = (text: string) => `-----BEGIN ${label}-----\n${text}\n-----END ${label}-----\n`;
  return [
    ['an empty string', ''],
    ['blanks', ' \n\t\n '],
    ['text without PEM', 'this is not the file that you are looking for'],
    ['an empty body', framed('')],
    ['a body of blanks', framed('   \n   ')],
    ['no END line', good.replace(/-----END.*/, '')],
    ['no BEGIN line', good.replace(/-----BEGIN.*\n/, '')],
    ['END before BEGIN', good.split('\n').reverse().join('\n')],
    ['another END label', good.replace(/-----END [A-Z ]+/, '-----END SOMETHING ELSE')],
    ['four dashes', good.replaceAll('-----', '----')],
    ['six dashes', good.replaceAll('-----', '------')],
    ['a lower-case label', good.replace(/BEGIN [A-Z ]+/, text => text.toLowerCase())],
    ['a label of 10,000 letters', good.replaceAll(label, 'A'.repeat(10_000))],
    ['an unknown label', good.replaceAll(label, 'OPENSSH PRIVATE KEY')],
    ['a label of something public', good.replaceAll(label, 'PKCS7')],
    ['a block in a block', framed(good)],
    ['NUL in the body', framed(`${body[0]}\0${body.slice(1).join('\n')}`)],
    ['NUL before BEGIN', `\0${good}`],
    ['lone carriage returns', good.replaceAll('\n', '\r')],
    ['carriage returns inside a line', framed(body.join('\n').replace(/.{10}/, '$&\r'))],
    ['escaped line ends', good.replaceAll('\n', '\\n')],
    ['vertical tabs', good.replaceAll('\n', '\v')],
    ['line separators of Unicode', good.replaceAll('\n', '\u2028')],
    ['full-width letters', framed(body.join('\n').replaceAll('A', '\uff21'))],
    ['base64url', framed('-_-_-_-_')],
    ['padding in the middle', framed(body.join('\n').replace(/.{8}/, 'QUE='))],
    ['padding that is missing', framed(`${body.join('\n').replaceAll('=', '')}A`)],
    ['three padding characters', framed(`${body.join('\n').replaceAll('=', '')}===`)],
    ['base64 that is not canonical', framed('MAB=')],
    ['an unknown header', framed(`X-Header: yes\n\n${body.join('\n')}`)],
    ['a Proc-Type without DEK-Info', framed(`Proc-Type: 4,ENCRYPTED\n\n${body.join('\n')}`)],
    [
      'headers without an empty line',
      framed(`Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n${body.join('\n')}`),
    ],
    ['one line of half a megabyte', framed('A'.repeat(512 * 1024))],
    ['half a megabyte of lines', framed('AAAA\n'.repeat(100_000))],
    ['half a megabyte of blank lines', `${'\n'.repeat(512 * 1024)}${good}`],
    ['a hundred blocks', good.repeat(100)],
  ];
}

const named = (
  prefix: string,
  items: [string, Buffer][],
  make: (name: string, der: Buffer) => Animal,
): Animal[] => items.map(([name, der]) => make(`${prefix}: ${name}`, der));

const two = (bitCount: number): bigint => (1n << BigInt(bitCount - 1)) + 1n;
const spkiRsa = (n: bigint | number, e: bigint | number): Buffer =>
  seq(seq(oid(ids.rsa), nil()), bits(seq(int(n), int(e))));
const spkiEc = (point: Uint8Array, curve: Uint8Array = oid(ids.p256)): Buffer =>
  seq(seq(oid(ids.ec), curve), bits(point));
const spki = (algorithm: string, raw: Uint8Array): Buffer => seq(seq(oid(algorithm)), bits(raw));
const pkcs8 = (algorithm: Uint8Array, inner: Uint8Array): Buffer => seq(int(0), algorithm, octets(inner));
const sec1 = (scalar: Uint8Array, ...options: Uint8Array[]): Buffer =>
  seq(int(1), octets(scalar), ...options);
const p256Name = wrap(0, oid(ids.p256));

/** The numbers of the frozen RSA key, to be put together wrongly. */
function rsaNumbers(): bigint[] {
  const der = unpem(files.rsa_pkcs1);
  const numbers: bigint[] = [];
  for (let at = 4; at < der.length; ) {
    const long = der[at + 1]! & 0x80 ? der[at + 1]! & 0x7f : 0;
    const length = long ? der.readUIntBE(at + 2, long) : der[at + 1]!;
    numbers.push(BigInt(`0x${der.subarray(at + 2 + long, at + 2 + long + length).toString('hex')}`));
    at += 2 + long + length;
  }
  return numbers;
}

/** The frozen RSA key with some of its numbers replaced, by their place in RFC 8017. */
function rsaWith(changes: Record<number, bigint | number>): Buffer {
  return seq(...rsaNumbers().map((value, i) => int(changes[i] ?? value)));
}

function rsaAnimals(): Animal[] {
  const [, n, e, d, p, q] = rsaNumbers() as [bigint, bigint, bigint, bigint, bigint, bigint];
  const publicKeys: [string, Buffer][] = [
    ['a modulus of zero', spkiRsa(0, 65537)],
    ['a modulus of one', spkiRsa(1, 65537)],
    ['a negative modulus', spkiRsa(-5, 65537)],
    ['a negative exponent', spkiRsa(n, -3)],
    ['512 bits', spkiRsa(two(512), 65537)],
    ['1024 bits', spkiRsa(two(1024), 65537)],
    ['2047 bits', spkiRsa(two(2047), 65537)],
    ['16,384 bits', spkiRsa(two(16_384), 65537)],
    ['32,768 bits', spkiRsa(two(32_768), 65537)],
    ['an even modulus', spkiRsa(two(2048) + 1n, 65537)],
    ['an exponent of zero', spkiRsa(n, 0)],
    ['an exponent of one', spkiRsa(n, 1)],
    ['an exponent of two', spkiRsa(n, 2)],
    ['an even exponent', spkiRsa(n, 65538)],
    ['an exponent as long as the modulus', spkiRsa(n, n - 2n)],
    ['parameters that are no null', seq(seq(oid(ids.rsa), int(1)), bits(seq(int(n), int(e))))],
    ['three numbers', seq(seq(oid(ids.rsa), nil()), bits(seq(int(n), int(e), int(1))))],
    ['bits that fill no byte', seq(seq(oid(ids.rsa), nil()), tlv(3, Buffer.from([3]), seq(int(n), int(e))))],
  ];
  const privateKeys: [string, Buffer][] = [
    ['another modulus', rsaWith({ 1: n + 2n })],
    ['another public exponent', rsaWith({ 2: 3 })],
    ['another private exponent', rsaWith({ 3: d + 2n })],
    ['a private exponent of zero', rsaWith({ 3: 0 })],
    ['its primes swapped', rsaWith({ 4: q, 5: p })],
    ['a prime of zero', rsaWith({ 4: 0 })],
    ['a prime of one', rsaWith({ 4: n, 5: 1 })],
    ['a wrong first CRT exponent', rsaWith({ 6: 5 })],
    ['a wrong second CRT exponent', rsaWith({ 7: 5 })],
    ['a wrong coefficient', rsaWith({ 8: 1 })],
    ['a negative prime', rsaWith({ 4: -7 })],
    ['a multi-prime version', rsaWith({ 0: 1 })],
    ['32,768 bits', seq(int(0), ...Array.from({ length: 8 }, () => int(two(32_768))))],
    ['eight numbers only', seq(...rsaNumbers().slice(0, 8).map(int))],
  ];
  return [
    ...named('RSA public key', publicKeys, (name, der) => derKey(name, 'PUBLIC KEY', der)),
    ...named('RSA private key', privateKeys, (name, der) => derKey(name, 'RSA PRIVATE KEY', der)),
    ...named('RSA PKCS#8', privateKeys, (name, der) =>
      derKey(name, 'PRIVATE KEY', pkcs8(seq(oid(ids.rsa), nil()), der)),
    ),
    derKey('RSA PKCS#1 public key of 512 bits', 'RSA PUBLIC KEY', seq(int(two(512)), int(65537))),
    key('a real RSA key of 512 bits', files.rsa_512),
  ];
}

function curveAnimals(): Animal[] {
  const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
  const publicKeys: [string, Buffer][] = [
    ['the point at infinity', spkiEc(Buffer.from([0]))],
    ['an empty point', spkiEc(Buffer.alloc(0))],
    ['a point off the curve', spkiEc(Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)]))],
    ['zero coordinates', spkiEc(Buffer.concat([Buffer.from([4]), Buffer.alloc(64)]))],
    ['coordinates beyond the field', spkiEc(Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 0xff)]))],
    ['a compressed point off the curve', spkiEc(Buffer.concat([Buffer.from([2]), Buffer.alloc(32, 0xff)]))],
    ['a hybrid point', spkiEc(Buffer.concat([Buffer.from([6]), Buffer.alloc(64, 1)]))],
    ['a point that is too short', spkiEc(Buffer.concat([Buffer.from([4]), Buffer.alloc(62, 1)]))],
    ['a curve nobody knows', spkiEc(Buffer.alloc(65, 4), oid('1.2.3.4.5'))],
    ['no curve', seq(seq(oid(ids.ec)), bits(Buffer.alloc(65, 4)))],
    ['an implicit curve', spkiEc(Buffer.alloc(65, 4), nil())],
    ['P-192', spkiEc(Buffer.alloc(49, 4), oid('1.2.840.10045.3.1.1'))],
  ];
  const secrets: [string, Buffer][] = [
    ['a scalar of zero', sec1(Buffer.alloc(32), p256Name)],
    ['a scalar equal to the order', sec1(order, p256Name)],
    ['a scalar beyond the order', sec1(Buffer.alloc(32, 0xff), p256Name)],
    ['a scalar of 100 bytes', sec1(Buffer.alloc(100, 1), p256Name)],
    ['an empty scalar', sec1(Buffer.alloc(0), p256Name)],
    ['no curve', sec1(Buffer.alloc(32, 1))],
    ['an unknown curve', sec1(Buffer.alloc(32, 1), wrap(0, oid('1.2.3.4')))],
    ['version two', seq(int(2), octets(Buffer.alloc(32, 1)), p256Name)],
    ["another key's public point", sec1(Buffer.alloc(32, 1), p256Name, wrap(1, bits(publicPoint())))],
    ['a public point at infinity', sec1(Buffer.alloc(32, 1), p256Name, wrap(1, bits(Buffer.from([0]))))],
  ];
  const mismatch = sec1(Buffer.alloc(32, 1), wrap(0, oid('1.3.132.0.34')));
  return [
    ...named('EC public key', publicKeys, (name, der) => derKey(name, 'PUBLIC KEY', der)),
    ...named('EC private key', secrets, (name, der) => derKey(name, 'EC PRIVATE KEY', der)),
    derKey('EC PKCS#8: two curves', 'PRIVATE KEY', pkcs8(seq(oid(ids.ec), oid(ids.p256)), mismatch)),
    key('EC private key with explicit curve parameters', files.explicit_curve),
    key('EC private key on a brainpool curve', files.brainpool),
  ];
}

/** The public point of the frozen leaf. */
function publicPoint(): Buffer {
  const marker = Buffer.from('034200', 'hex');
  const at = leaf.indexOf(marker) + marker.length;
  return leaf.subarray(at, at + 65);
}

function otherAlgorithms(): Animal[] {
  const v2 = (raw: Uint8Array) =>
    seq(int(1), seq(oid(ids.ed25519)), octets(octets(Buffer.alloc(32, 1))), tlv(0x81, Buffer.from([0]), raw));
  return [
    key('an Ed448 key', files.ed448),
    key('a DSA key', files.dsa),
    key('an RSA-PSS key', files.rsa_pss),
    key('a certificate in place of a key', files.leaf),
    key('a key and a certificate', files.pkcs8 + files.leaf),
    key('two private keys', files.pkcs8 + files.rsa_pkcs8),
    key('a private key and a public one', files.pkcs8 + pem('RSA PUBLIC KEY', rsaPublic)),
    key('a key with a note before it', `Bag Attributes\n${files.pkcs8}`),
    key('a key with rubbish after it', `${files.pkcs8}rubbish`),
    key('an EC key in an RSA frame', pem('RSA PRIVATE KEY', ecKey)),
    key('an RSA key in an EC frame', pem('EC PRIVATE KEY', rsaKey)),
    key('a private key in a public frame', pem('PUBLIC KEY', ecKey)),
    key('a public key in a private frame', pem('PRIVATE KEY', rsaPublic)),
    key('a plain key in an encrypted frame', pem('ENCRYPTED PRIVATE KEY', ecKey), passphrase),
    key('parameters without a key', pem('EC PARAMETERS', oid(ids.p256))),
    key('parameters with an RSA key', pem('EC PARAMETERS', oid(ids.p256)) + files.rsa_pkcs8),
    derKey('an Ed25519 public key of 31 bytes', 'PUBLIC KEY', spki(ids.ed25519, Buffer.alloc(31, 1))),
    derKey(
      'an Ed25519 public key that is no point',
      'PUBLIC KEY',
      spki(ids.ed25519, Buffer.concat([Buffer.from([2]), Buffer.alloc(31)])),
    ),
    derKey(
      'an Ed25519 public key of order one',
      'PUBLIC KEY',
      spki(ids.ed25519, Buffer.concat([Buffer.from([1]), Buffer.alloc(31)])),
    ),
    ...['00'.repeat(32), '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'].map(
      (point, order) =>
        derKey(
          `an Ed25519 public key of order ${[4, 8][order]}`,
          'PUBLIC KEY',
          spki(ids.ed25519, Buffer.from(point, 'hex')),
        ),
    ),
    derKey(
      'an Ed25519 private key of 16 bytes',
      'PRIVATE KEY',
      pkcs8(seq(oid(ids.ed25519)), octets(Buffer.alloc(16, 1))),
    ),
    derKey("an Ed25519 key with another's public half", 'PRIVATE KEY', v2(Buffer.alloc(32, 3))),
    derKey(
      'an Ed25519 key with parameters',
      'PUBLIC KEY',
      seq(seq(oid(ids.ed25519), nil()), bits(Buffer.alloc(32, 9))),
    ),
    derKey('an X25519 public key of low order', 'PUBLIC KEY', spki(ids.x25519, Buffer.alloc(32))),
    derKey('an ML-DSA public key of 10 bytes', 'PUBLIC KEY', spki(ids.mlDsa65, Buffer.alloc(10, 1))),
    derKey('an ML-KEM public key of 10 bytes', 'PUBLIC KEY', spki(ids.mlKem768, Buffer.alloc(10, 1))),
    derKey(
      'an ML-KEM public key beyond the field',
      'PUBLIC KEY',
      spki(ids.mlKem768, Buffer.alloc(1184, 0xff)),
    ),
    derKey(
      'an ML-DSA seed of 5 bytes',
      'PRIVATE KEY',
      pkcs8(seq(oid(ids.mlDsa65)), tlv(0x80, Buffer.alloc(5))),
    ),
    derKey('an algorithm nobody knows', 'PRIVATE KEY', pkcs8(seq(oid('1.2.3.4.5.6')), Buffer.alloc(32))),
    derKey(
      'a PKCS#8 of version 9',
      'PRIVATE KEY',
      seq(int(9), seq(oid(ids.ed25519)), octets(octets(Buffer.alloc(32, 1)))),
    ),
  ];
}

function lockedKeys(): Animal[] {
  const locked = (
    name: string,
    algorithm: Uint8Array,
    secret: string = passphrase,
    content: Uint8Array = Buffer.alloc(160, 5),
  ) => derKey(`encrypted key: ${name}`, 'ENCRYPTED PRIVATE KEY', seq(algorithm, octets(content)), secret);
  return [
    key('encrypted key: no passphrase', files.scrypt),
    key('encrypted key: wrong passphrase', files.scrypt, 'wrong'),
    key('encrypted key: empty passphrase', files.pbe_3des, ''),
    key('encrypted key: a passphrase of 100,000 characters', files.pbe_3des, 'x'.repeat(100_000)),
    key('legacy encrypted key: no passphrase', files.legacy_encrypted),
    key('legacy encrypted key: wrong passphrase', files.legacy_encrypted, 'wrong'),
    key('legacy encrypted key: DES', files.legacy_encrypted.replace('AES-256-CBC', 'DES-CBC'), passphrase),
    key(
      'legacy encrypted key: a cipher named constructor',
      files.legacy_encrypted.replace('AES-256-CBC', 'constructor'),
      passphrase,
    ),
    key(
      'legacy encrypted key: a short vector',
      files.legacy_encrypted.replace(/CBC,.*/, 'CBC,00'),
      passphrase,
    ),
    locked('1,000,001 iterations', pbes2(pbkdf2(1_000_001))),
    locked('2^31 iterations', pbes2(pbkdf2(2 ** 31))),
    locked('2^64 iterations', pbes2(pbkdf2(1n << 64n))),
    locked('2^4000 iterations', pbes2(pbkdf2(1n << 4000n))),
    locked('zero iterations', pbes2(pbkdf2(0))),
    locked('minus one iterations', pbes2(pbkdf2(-1))),
    locked('a salt of 8 KiB', pbes2(pbkdf2(1000, Buffer.alloc(8192)))),
    locked('scrypt with a gigabyte', pbes2(scrypt(2 ** 20, 8, 1))),
    locked('scrypt with 65 MiB', pbes2(scrypt(2 ** 16, 9, 1))),
    locked('scrypt with 2^60', pbes2(scrypt(1n << 60n, 8, 1))),
    locked('scrypt with huge parallelism', pbes2(scrypt(2, 8, 2 ** 24))),
    locked('scrypt with N that is no power of two', pbes2(scrypt(1000, 8, 1))),
    locked('scrypt with zero', pbes2(scrypt(0, 0, 0))),
    locked(
      'PKCS#12 encryption with 2^31 iterations',
      seq(oid(ids.pbe3des), seq(octets(Buffer.alloc(8)), int(2 ** 31))),
    ),
    locked('single DES', seq(oid('1.2.840.113549.1.5.3'), seq(octets(Buffer.alloc(8)), int(2048)))),
    locked('RC4', seq(oid('1.2.840.113549.1.12.1.1'), seq(octets(Buffer.alloc(8)), int(2048)))),
    locked('an unknown cipher', pbes2(pbkdf2(1000), '1.2.3.4')),
    locked('an unknown derivation', pbes2(seq(oid('1.2.3.4'), nil()))),
    locked('a vector of 4 bytes', pbes2(pbkdf2(1000), ids.aes256, Buffer.alloc(4))),
    locked('content of no whole blocks', pbes2(pbkdf2(1000)), passphrase, Buffer.alloc(33)),
    locked('no content', pbes2(pbkdf2(1000)), passphrase, Buffer.alloc(0)),
  ];
}

function certificateAnimals(): Animal[] {
  const bundle = (der: Buffer): string => pem('CERTIFICATE', der) + files.authority;
  return [
    ...brokenPem(files.leaf).map(([name, text]) => certificate(`certificate PEM: ${name}`, text)),
    ...named('certificate', [...brokenDer, ...truncated(leaf, 12), ...trailing(leaf)], derCertificate),
    ...named('self-signed certificate', flipped(selfSigned, 24, inNames), derCertificate),
    ...flipped(leaf, 24).map(([name, der]) => certificate(`chain: ${name}`, bundle(der))),
    certificate('a key without a certificate', files.pkcs8),
    certificate('two certificates that know nothing of each other', files.leaf + files.rsa_self_signed),
    certificate('two certificates of one key', files.leaf + files.leaf_key_self_signed + files.authority),
    certificate("another key's certificate", files.leaf + files.rsa_pkcs8),
    certificate('a certificate with two private keys', files.leaf + files.pkcs8 + files.rsa_pkcs8),
    certificate('a public key among certificates', files.leaf + pem('RSA PUBLIC KEY', rsaPublic)),
    certificate('a chain with an encrypted key and no passphrase', files.leaf + files.scrypt),
    certificate('a signing request', pem('CERTIFICATE REQUEST', leaf)),
    certificate(
      'a certificate with legacy headers',
      files.leaf.replace('\n', '\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n'),
    ),
    derCertificate('a certificate with a 512-bit key', withPublicKey(spkiRsa(two(512), 65537))),
    derCertificate('a certificate with a 32,768-bit key', withPublicKey(spkiRsa(two(32_768), 65537))),
    derCertificate(
      'a certificate with a point off the curve',
      withPublicKey(spkiEc(Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 1)]))),
    ),
    derCertificate(
      'a certificate with an unknown algorithm',
      withPublicKey(spki('1.2.3.4', Buffer.alloc(32))),
    ),
    derCertificate('a certificate with a date that is none', withPublicKey(unpemSpki(), '991399999999Z')),
  ];
}

const unpemSpki = (): Buffer => spkiEc(publicPoint());

/** An unsigned certificate around a public key. */
function withPublicKey(publicKey: Uint8Array, date = '260101000000Z'): Buffer {
  const name = (text: string) => seq(set(seq(oid('2.5.4.3'), tlv(0x0c, Buffer.from(text)))));
  const algorithm = seq(oid('1.2.840.10045.4.3.2'));
  const time = tlv(0x17, Buffer.from(date));
  const body = seq(
    wrap(0, int(2)),
    int(7),
    algorithm,
    name('issuer'),
    seq(time, time),
    name('subject'),
    publicKey,
  );
  return seq(body, algorithm, bits(seq(int(1), int(1))));
}

function pkcs12Animals(): Animal[] {
  const noBags = seq();
  const mac = (iterations: bigint | number) => macData(Buffer.alloc(32), Buffer.alloc(8), iterations);
  const locked = (iterations: bigint | number) => lockedSafe(pbes2(pbkdf2(iterations)), Buffer.alloc(64));
  const shrouded = (iterations: bigint | number) =>
    plainSafe(bag(ids.shroudedKeyBag, seq(pbes2(pbkdf2(iterations)), octets(Buffer.alloc(64)))));
  const pbmac = (kdf: Uint8Array) =>
    seq(
      seq(seq(oid(ids.pbmac1), seq(kdf, seq(oid(ids.hmacSha256), nil()))), octets(Buffer.alloc(32))),
      octets(Buffer.alloc(8)),
      int(1),
    );
  const broken: [string, Buffer][] = [
    ['1,000,001 MAC iterations', pfx(noBags, mac(1_000_001))],
    ['2^31 MAC iterations', pfx(noBags, mac(2 ** 31))],
    ['2^64 MAC iterations', pfx(noBags, mac(1n << 64n))],
    ['zero MAC iterations', pfx(noBags, mac(0))],
    ['negative MAC iterations', pfx(noBags, mac(-1))],
    ['2^31 iterations for the certificates', pfx(seq(locked(2 ** 31)), mac(1))],
    ['2^31 iterations for the key', pfx(seq(shrouded(2 ** 31)), mac(1))],
    [
      'many bags that are dear together',
      pfx(seq(locked(900_000), locked(900_000), locked(900_000), shrouded(900_000)), mac(1)),
    ],
    ['scrypt with a gigabyte', pfx(seq(lockedSafe(pbes2(scrypt(2 ** 20, 8, 1)), Buffer.alloc(64))), mac(1))],
    ['PBMAC1 with 2^31 iterations', pfx(noBags, pbmac(pbkdf2(2 ** 31)))],
    ['PBMAC1 without a key length', pfx(noBags, pbmac(pbkdf2(1000)))],
    ['a MAC of zeros', pfx(noBags, mac(1))],
    ['an empty MAC', pfx(noBags, macData(Buffer.alloc(0), Buffer.alloc(8), 1))],
    ['a MAC salt of 8 KiB', pfx(noBags, macData(Buffer.alloc(32), Buffer.alloc(8192), 1))],
    ['version 1', pfx(noBags, mac(1), 1)],
    ['an unknown bag', pfx(seq(plainSafe(bag('1.2.3.4', nil()))), mac(1))],
    [
      'a secret bag',
      pfx(seq(plainSafe(bag(ids.secretBag, seq(oid('1.2.3'), wrap(0, octets(nil())))))), mac(1)),
    ],
    [
      'safes in safes',
      pfx(seq(plainSafe(bag(ids.safeContentsBag, seq(bag(ids.safeContentsBag, seq()))))), mac(1)),
    ],
    [
      'a thousand certificates',
      pfx(seq(plainSafe(...Array.from({ length: 1000 }, () => certificateBag(nil())))), mac(1)),
    ],
    ['a thousand safes', pfx(seq(...Array.from({ length: 1000 }, () => plainSafe())), mac(1))],
    ['a signed content', seq(int(3), seq(oid('1.2.840.113549.1.7.2'), wrap(0, seq())), mac(1))],
    ['more than the cap', Buffer.alloc(300 * 1024, 0x30)],
    ['nothing', Buffer.alloc(0)],
    ['a certificate', leaf],
    ['a key', ecKey],
    ['PEM', Buffer.from(files.leaf)],
    ['no MAC', Buffer.from(p12.nomac.base64, 'base64')],
  ];
  const all = [
    ...broken,
    ...brokenDer,
    ...truncated(modern, 16),
    ...trailing(modern),
    ...flipped(modern, 32),
  ];
  return [
    ...named('PKCS#12', all, (name, bytes) => pkcs12(name, bytes)),
    ...named('legacy PKCS#12', flipped(legacy, 32), (name, bytes) => pkcs12(name, bytes, 'legacy-pass')),
    pkcs12('PKCS#12: wrong passphrase', modern, 'wrong'),
    pkcs12('PKCS#12: empty passphrase', modern, ''),
    { name: 'PKCS#12: no passphrase', kind: 'pkcs12', input: modern },
    pkcs12('PKCS#12: a passphrase of 100,000 characters', modern, 'x'.repeat(100_000)),
  ];
}

export const zoo: readonly Animal[] = [
  ...brokenPem(files.pkcs8).map(([name, text]) => key(`key PEM: ${name}`, text)),
  ...named('PKCS#8', [...brokenDer, ...truncated(ecKey, 10), ...trailing(ecKey)], (name, der) =>
    derKey(name, 'PRIVATE KEY', der),
  ),
  ...named('RSA PKCS#8', [...truncated(rsaKey, 10), ...flipped(rsaKey, 32)], (name, der) =>
    derKey(name, 'PRIVATE KEY', der),
  ),
  ...named('EC PKCS#8', flipped(ecKey, 32), (name, der) => derKey(name, 'PRIVATE KEY', der)),
  ...named('PKCS#1', brokenDer, (name, der) => derKey(name, 'RSA PRIVATE KEY', der)),
  ...named('SEC1', brokenDer, (name, der) => derKey(name, 'EC PRIVATE KEY', der)),
  ...named('SPKI', brokenDer, (name, der) => derKey(name, 'PUBLIC KEY', der)),
  ...named('encrypted PKCS#8', brokenDer, (name, der) =>
    derKey(name, 'ENCRYPTED PRIVATE KEY', der, passphrase),
  ),
  ...rsaAnimals(),
  ...curveAnimals(),
  ...otherAlgorithms(),
  ...lockedKeys(),
  ...certificateAnimals(),
  ...pkcs12Animals(),
];
