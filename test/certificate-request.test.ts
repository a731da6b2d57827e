/** Signing requests that others created: what is read from them, and a zoo of those that get nothing. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { before, describe, it } from 'node:test';
import * as x509 from '@peculiar/x509';
import fc from 'fast-check';
import { issuedName, patternAllows } from '../src/contract/certificate-names.ts';
import { Failure } from '../src/contract/errors.ts';
import {
  issueEndCertificate,
  issueIntermediate,
  issueRoot,
  newSerial,
} from '../src/material/authority-issue.ts';
import { readRequest, readRequestPem } from '../src/material/certificate-request.ts';
import { readDer } from '../src/material/der.ts';
import { generateKey } from '../src/material/key-material.ts';
import { constraintsFrom, element, encodeConstraints } from '../src/material/name-constraints.ts';
import { toPem } from '../src/material/pem.ts';
import { dns, ecPair, requestFor } from './authorities-world.ts';

const oids = {
  cn: '0603550403',
  sha256ec: '06082a8648ce3d040302',
  sha1ec: '06072a8648ce3d0401',
  sha256rsa: '06092a864886f70d01010b0500',
  extensions: '06092a864886f70d01090e',
  san: '0603551d11',
};
const hex = (text: string) => Buffer.from(text, 'hex');
const seq = (...parts: Buffer[]) => element(0x30, parts);
const set = (...parts: Buffer[]) => element(0x31, parts);
const name = (tag: number, value: string | Buffer) => element(tag, [Buffer.from(value as string)]);
const extension = (id: string, value: Buffer, isCritical = false) =>
  seq(hex(id), ...(isCritical ? [hex('0101ff')] : []), element(0x04, [value]));
const wanted = (...extensions: Buffer[]) => seq(hex(oids.extensions), set(seq(...extensions)));
const sans = (...names: Buffer[]) => extension(oids.san, seq(...names));
const good = sans(name(0x82, 'a.example.org'));

interface Parts {
  readonly version?: Buffer;
  readonly subject?: Buffer;
  readonly attributes?: readonly Buffer[];
  readonly algorithm?: string;
  readonly hash?: string | null;
  readonly pair?: { privateKey: KeyObject; publicKey: KeyObject };
  readonly signer?: KeyObject;
  readonly spki?: Buffer;
}

const pair = ecPair();

/** A request put together by hand, so that any part of it can be wrong. */
function built(parts: Parts = {}): Buffer {
  const { version = hex('020100'), subject = seq(), attributes = [wanted(good)] } = parts;
  const { algorithm = oids.sha256ec, hash = 'sha256', pair: keys = pair, signer = keys.privateKey } = parts;
  const spki = parts.spki ?? keys.publicKey.export({ format: 'der', type: 'spki' });
  const info = seq(version, subject, spki, element(0xa0, attributes));
  const signature = sign(hash, info, signer);
  return seq(info, seq(hex(algorithm)), element(0x03, [hex('00'), signature]));
}

const cn = (value: string) => set(seq(hex(oids.cn), name(0x0c, value)));
const rsa = (bits: number, publicExponent = 65_537) =>
  generateKeyPairSync('rsa', { modulusLength: bits, publicExponent });
const curve = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve });

describe('a signing request', () => {
  it('gives its key and its names, in one spelling', async () => {
    const csr = await requestFor({
      names: [...dns('A.Example.org', 'a.example.org'), { type: 'ip', value: '10.0.0.1' }],
    });
    const { names, publicPem } = readRequestPem(csr, 'csr');
    assert.deepEqual(
      names.map(({ kind, value }) => `${kind}:${value}`),
      ['dns:a.example.org', 'ip:10.0.0.1'],
    );
    assert.equal(createPublicKey(publicPem).asymmetricKeyType, 'ec');
  });

  it('may be signed with RSA, P-384 or Ed25519, have other parts in its subject, and a name twice', () => {
    const sha384 = { algorithm: '06082a8648ce3d040303', hash: 'sha384' };
    const other = set(seq(hex('060355040a'), name(0x0c, 'Example')));
    for (const parts of [
      {},
      { pair: rsa(2048), algorithm: oids.sha256rsa },
      { pair: curve('P-384'), ...sha384 },
      { pair: generateKeyPairSync('ed25519'), algorithm: '06032b6570', hash: null },
      { subject: seq(other, cn('A.example.org')) },
      { attributes: [wanted(sans(name(0x82, 'a.example.org'), name(0x82, 'A.EXAMPLE.ORG')))] },
      { attributes: [seq(hex('06092a864886f70d010907'), set(name(0x0c, 'x'))), wanted(good)] },
    ])
      assert.deepEqual(
        readRequest(built(parts), 'csr').names.map(({ value }) => value),
        ['a.example.org'],
      );
  });

  const whole = built();
  const withSans = (...names: Buffer[]) => built({ attributes: [wanted(sans(...names))] });
  const withExtension = (id: string, value: Buffer) =>
    built({ attributes: [wanted(good, extension(id, value))] });
  const edited = (at: number) => {
    const copy = Buffer.from(whole);
    copy[at]! ^= 1;
    return copy;
  };
  const zoo: Readonly<Record<string, () => Buffer>> = {
    'no bytes': () => Buffer.alloc(0),
    'a null': () => hex('0500'),
    'a certificate’s shape': () => seq(seq(hex('020100')), seq(), hex('030100')),
    'bytes after the end': () => Buffer.concat([whole, hex('00')]),
    'its last byte missing': () => whole.subarray(0, -1),
    'an indefinite length': () => Buffer.concat([hex('3080'), whole.subarray(4), hex('0000')]),
    'a longer length than needed': () => Buffer.concat([hex('308300'), whole.subarray(2)]),
    'another version': () => built({ version: hex('020101') }),
    'a negative version': () => built({ version: hex('0201ff') }),
    'a version of two bytes': () => built({ version: hex('02020000') }),
    'a damaged signature': () => edited(whole.length - 1),
    'a damaged name': () => edited(whole.indexOf('example')),
    'another key’s signature': () => built({ signer: ecPair().privateKey }),
    'a signature with SHA-1': () => built({ algorithm: oids.sha1ec, hash: 'sha1' }),
    'an RSA algorithm over an EC key': () => built({ algorithm: oids.sha256rsa }),
    'an EC algorithm over an RSA key': () => built({ pair: rsa(2048) }),
    'parameters after an EC algorithm': () => built({ algorithm: `${oids.sha256ec}0500` }),
    'an unknown algorithm': () => built({ algorithm: '06032b6571' }),
    'an RSA key of 1024 bits': () => built({ pair: rsa(1024), algorithm: oids.sha256rsa }),
    'an RSA key with exponent 3': () => built({ pair: rsa(2048, 3), algorithm: oids.sha256rsa }),
    'a key on secp256k1': () => built({ pair: curve('secp256k1') }),
    'a key on another curve': () => built({ pair: curve('brainpoolP256r1') }),
    'an X25519 key': () =>
      built({ spki: generateKeyPairSync('x25519').publicKey.export({ format: 'der', type: 'spki' }) }),
    'an ML-DSA key': () =>
      built({
        spki: generateKeyPairSync('ml-dsa-44' as 'ed25519').publicKey.export({ format: 'der', type: 'spki' }),
      }),
    'a point that is not on the curve': () => {
      const spki = pair.publicKey.export({ format: 'der', type: 'spki' });
      spki[spki.length - 1]! ^= 1;
      return built({ spki });
    },
    'no attributes': () => built({ attributes: [] }),
    'no extensions': () => built({ attributes: [wanted()] }),
    'no alternative names': () => built({ attributes: [wanted(extension('0603551d0f', hex('03020780')))] }),
    'an empty list of names': () => withSans(),
    'extensions twice': () => built({ attributes: [wanted(good), wanted(good)] }),
    'names twice': () => built({ attributes: [wanted(good, good)] }),
    'two sets of extensions': () =>
      built({ attributes: [seq(hex(oids.extensions), set(seq(good), seq(good)))] }),
    'no set of extensions': () => built({ attributes: [seq(hex(oids.extensions), seq(good))] }),
    'text after the names': () =>
      built({
        attributes: [
          wanted(extension(oids.san, Buffer.concat([seq(name(0x82, 'a.example.org')), hex('0500')]))),
        ],
      }),
    'a common name alone': () => built({ subject: seq(cn('a.example.org')), attributes: [] }),
    'a common name that is no alternative name': () => built({ subject: seq(cn('b.example.org')) }),
    'two common names': () => built({ subject: seq(cn('a.example.org'), cn('a.example.org')) }),
    'a common name that is no host name': () => built({ subject: seq(cn('Anna')) }),
    'a subject without sets': () => built({ subject: seq(seq(hex(oids.cn), name(0x0c, 'a.example.org'))) }),
    'a request for an authority': () => withExtension('0603551d13', seq(hex('0101ff'))),
    'name constraints': () => withExtension('0603551d1e', encodeConstraints(['example.org'])),
    'a certificate policy': () => withExtension('0603551d20', seq()),
    'a requirement of stapled answers': () => withExtension('06082b06010505070118', hex('3003020105')),
    'an unknown extension': () => withExtension('06032a0304', hex('0500')),
    'an email address': () => withSans(name(0x81, 'anna@example.org')),
    'an address of the web': () => withSans(name(0x86, 'https://example.org/')),
    'another kind of name': () =>
      withSans(element(0xa0, [hex('06032a0304'), element(0xa0, [name(0x0c, 'x')])])),
    'a directory name': () => withSans(element(0xa4, [seq(cn('a.example.org'))])),
    'a zero byte in a name': () => withSans(name(0x82, 'a.example.org\0.evil.example')),
    'a space in a name': () => withSans(name(0x82, 'a example.org')),
    'a line break in a name': () => withSans(name(0x82, 'a.example.org\n')),
    'a trailing dot': () => withSans(name(0x82, 'a.example.org.')),
    'an empty label': () => withSans(name(0x82, 'a..example.org')),
    'an underscore': () => withSans(name(0x82, '_acme.example.org')),
    'a hyphen at the end of a label': () => withSans(name(0x82, 'a-.example.org')),
    'a label of 64 letters': () => withSans(name(0x82, `${'a'.repeat(64)}.example.org`)),
    'a name of 254 letters': () => withSans(name(0x82, `${`${'a'.repeat(61)}.`.repeat(4)}abcdef`)),
    'a star in the middle': () => withSans(name(0x82, 'a.*.example.org')),
    'a star within a label': () => withSans(name(0x82, 'a*.example.org')),
    'a star alone': () => withSans(name(0x82, '*')),
    'a star before a single label': () => withSans(name(0x82, '*.org')),
    'letters outside ASCII': () => withSans(name(0x82, Buffer.from('\u00e4.example.org', 'utf8'))),
    'an address as a host name': () => withSans(name(0x82, '10.0.0.1')),
    'a host name of numbers': () => withSans(name(0x82, '1.2.3')),
    'an address of five bytes': () => withSans(name(0x87, Buffer.alloc(5))),
    'an address with a mask': () => withSans(name(0x87, Buffer.alloc(8))),
    'an empty name': () => withSans(name(0x82, '')),
    'a hundred and one names': () =>
      withSans(...Array.from({ length: 101 }, (_, at) => name(0x82, `a${at}.example.org`))),
    'more than 64 KiB': () =>
      built({
        attributes: [seq(hex('06092a864886f70d010907'), set(name(0x0c, 'x'.repeat(66_000)))), wanted(good)],
      }),
  };

  for (const [what, bytes] of Object.entries(zoo))
    it(`with ${what} gets nothing`, () => {
      assert.throws(
        () => readRequest(bytes(), 'csr'),
        (error: unknown) =>
          error instanceof Failure && error.code === 'INVALID_REQUEST' && error.field === 'csr',
      );
    });

  it('is read up to 64 KiB, a hundred names and names of 253 characters, and no further', () => {
    const padded = (size: number) => seq(hex('06092a864886f70d010907'), set(name(0x0c, 'x'.repeat(size))));
    const names = (count: number) =>
      Array.from({ length: count }, (_, at) => name(0x82, `a${at}.example.org`));
    const long = (size: number) => name(0x82, `${`${'a'.repeat(61)}.`.repeat(4)}${'b'.repeat(size)}`);
    const isRead = (bytes: Buffer) => {
      try {
        return readRequest(bytes, 'csr').names.length > 0;
      } catch {
        return false;
      }
    };
    const fits = 65_536 - built({ attributes: [padded(60_000), wanted(good)] }).length + 60_000 - 16;
    assert.ok(isRead(built({ attributes: [padded(fits), wanted(good)] })));
    assert.ok(!isRead(built({ attributes: [padded(fits + 32), wanted(good)] })));
    assert.ok(isRead(withSans(...names(100))) && !isRead(withSans(...names(101))));
    assert.ok(isRead(withSans(long(5))) && !isRead(withSans(long(6))));
  });

  it('in PEM must be one block of its kind', () => {
    const pem = toPem('CERTIFICATE REQUEST', whole);
    assert.ok(readRequestPem(toPem('NEW CERTIFICATE REQUEST', whole), 'csr'));
    for (const wrong of ['', 'x', pem + pem, toPem('CERTIFICATE', whole), toPem('PRIVATE KEY', whole)])
      assert.throws(() => readRequestPem(wrong, 'csr'), Failure);
  });
});

describe('names', () => {
  it('are allowed by patterns that say so', () => {
    const allows = (pattern: string, text: string) => patternAllows(pattern, issuedName(text)!);
    for (const [pattern, text] of [
      ['a.example.org', 'A.example.org'],
      ['*.example.org', 'a.example.org'],
      ['**.example.org', 'a.b.example.org'],
      ['*.example.org', '*.example.org'],
      ['10.0.0.0/8', '10.255.0.1'],
      ['fd00::/8', 'fd12::1'],
      ['::1', '0:0:0:0:0:0:0:1'],
    ] as const)
      assert.ok(allows(pattern, text), `${pattern} ${text}`);
    for (const [pattern, text] of [
      ['a.example.org', 'b.example.org'],
      ['*.example.org', 'a.b.example.org'],
      ['*.example.org', 'example.org'],
      ['**.example.org', 'example.org'],
      ['**.example.org', '*.example.org'],
      ['**.example.org', 'a.notexample.org'],
      ['**.example.org', '10.0.0.1'],
      ['10.0.0.0/8', '11.0.0.1'],
      ['10.0.0.0/8', '::ffff:10.0.0.1'],
      ['0.0.0.0/0', 'a.example.org'],
    ] as const)
      assert.ok(!allows(pattern, text), `${pattern} ${text}`);
  });

  const label = fc.constantFrom('a', 'b', 'example', 'internal', 'team');
  const host = fc.array(label, { minLength: 1, maxLength: 4 }).map(labels => labels.join('.'));
  const address = fc.ipV4();
  const spelled = fc.oneof(
    host,
    host.map(text => `*.${text}`),
    address,
    fc.ipV6(),
  );
  const permitted = fc.array(fc.oneof(host, address, fc.constantFrom('10.0.0.0/8', 'fd00::/8')), {
    minLength: 1,
    maxLength: 3,
  });
  let root: { certificatePem: string; privatePem: string };
  let keys: { pem: string; publicPem: string };
  const [notBefore, notAfter] = [new Date(Date.now() - 60_000), new Date(Date.now() + 86_400_000)];
  const draft = { notBefore, notAfter, subject: 'CN=Team' };

  before(async () => {
    const spec = { key_type: 'OKP', curve: 'Ed25519' } as const;
    const [own, below] = [await generateKey(spec), await generateKey(spec)];
    const certificatePem = await issueRoot(own.pem, { ...draft, serial: newSerial(), permitted: null });
    root = { certificatePem, privatePem: own.pem };
    keys = below;
  });

  it('outside of an authority’s constraints are never issued, whatever is asked', async () => {
    const isIn = (name: string, constraint: string) => {
      const { domains, ranges } = constraintsFrom([constraint]);
      const { kind, value } = issuedName(name)!;
      if (kind === 'dns') {
        const plain = value.replace('*.', '');
        return domains!.some(domain => plain === domain || plain.endsWith(`.${domain}`));
      }
      return ranges!.length > 0 && patternAllows(constraint, { kind, value });
    };
    const authorities = new Map<string, string>();
    await fc.assert(
      fc.asyncProperty(
        permitted,
        fc.array(spelled, { minLength: 1, maxLength: 3 }),
        async (within, texts) => {
          const names = texts.flatMap(text => issuedName(text) ?? []);
          fc.pre(names.length > 0);
          const key = within.join();
          const certificatePem =
            authorities.get(key) ??
            (await issueIntermediate(root, keys.publicPem, {
              ...draft,
              serial: newSerial(),
              permitted: within,
            }));
          authorities.set(key, certificatePem);
          const authority = { certificatePem, privatePem: keys.pem };
          const publicPem = pair.publicKey.export({ format: 'pem', type: 'spki' }) as string;
          const asked = {
            names,
            publicPem,
            serial: newSerial(),
            notBefore,
            notAfter,
            usages: ['server' as const],
            listUrl: null,
          };
          const isPermitted = names.every(({ value }) => within.some(one => isIn(value, one)));
          const issued = await issueEndCertificate(authority, asked).catch(() => null);
          assert.equal(issued !== null, isPermitted, JSON.stringify({ within, names }));
          if (issued === null) return;
          const certificate = new x509.X509Certificate(issued);
          const written = certificate.getExtension(x509.SubjectAlternativeNameExtension)!.names.items;
          assert.equal(written.length, names.length);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('that are permitted are written so that OpenSSL agrees', () => {
    const all = encodeConstraints(['example.org', '10.0.0.0/8']);
    const [some, none] = readDer(all).children;
    assert.deepEqual([some!.children.length, none!.children.length], [2, 1], 'IPv6 is closed');
    const onlyNames = readDer(encodeConstraints(['example.org'])).children[1]!;
    assert.equal(onlyNames.children.length, 2, 'no address at all');
    const onlyAddresses = readDer(encodeConstraints(['fd00::/8'])).children[1]!;
    assert.equal(onlyAddresses.children.length, 2, 'no host name, and no IPv4');
  });
});
