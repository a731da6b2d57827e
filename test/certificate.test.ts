import assert from 'node:assert/strict';
import { createHash, createHmac, createPublicKey, pbkdf2Sync, X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import { createSecureContext } from 'node:tls';
import type { SubjectAlternativeNameExtension } from '@peculiar/x509';
import { Failure } from '../src/contract/errors.ts';
import type { KeySpecification } from '../src/contract/keys.ts';
import {
  certificateFitsKey,
  importCertificatePem,
  importPkcs12,
  issueServerCertificate,
  selfSign,
  signingRequest,
} from '../src/material/certificate.ts';
import { generateKey, importKey } from '../src/material/key-material.ts';
import {
  bag,
  certificateBag,
  ids,
  int,
  macData,
  nil,
  octets,
  oid,
  pfx,
  plainSafe,
  seq,
  unpem,
} from './der-build.ts';
import { isImmediate } from './effort.ts';
import vectors from './vectors/material.json' with { type: 'json' };

const { pem: files, pkcs12: p12 } = vectors;
const chain = files.leaf + files.authority;
const bytesOf = ({ base64 }: { base64: string }): Buffer => Buffer.from(base64, 'base64');
const notBefore = new Date('2026-01-02T03:04:05.678Z');

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

describe('certificates in PEM', () => {
  test('tell their facts', async () => {
    const { facts } = await importCertificatePem(chain);
    const { publicPem, fingerprint, notBefore: from, expiresAt, ...rest } = facts;
    const reference = new X509Certificate(files.leaf);
    assert.deepEqual(rest, {
      subject: 'CN=leaf.example,O=Vector Works,C=GB',
      issuer: 'CN=Vector Root,O=Vector Works,C=GB',
      serial: reference.serialNumber.toLowerCase(),
      sans: [
        'dns:leaf.example',
        'dns:*.leaf.example',
        'ip:192.0.2.7',
        'ip:2001:db8::7',
        'email:ops@leaf.example',
        'uri:spiffe://leaf.example/x',
      ],
      keyType: 'EC',
      keySize: 256,
    });
    assert.equal(fingerprint, reference.fingerprint256.replaceAll(':', '').toLowerCase());
    assert.equal(from.getTime(), reference.validFromDate.getTime());
    assert.equal(expiresAt.getTime(), reference.validToDate.getTime());
    assert.ok(createPublicKey(publicPem).equals(reference.publicKey));
  });

  test('come in any order, repeated, with notes between them, and leave leaf first', async () => {
    const shuffled = `Bag Attributes\n  friendlyName: für alle\n${files.authority}\n${files.leaf}subject=x\n${files.authority}`;
    assert.equal((await importCertificatePem(shuffled)).pem, chain);
    assert.equal((await importCertificatePem(chain)).pem, chain);
  });

  test('may bring their key, wherever it stands', async () => {
    const key = await importKey(files.pkcs8);
    for (const text of [files.pkcs8 + chain, files.authority + files.sec1_with_parameters + files.leaf])
      assert.deepEqual((await importCertificatePem(text)).key, key);
    assert.deepEqual((await importCertificatePem(chain + files.scrypt, 'modern-pass')).key, key);
    assert.equal((await importCertificatePem(chain)).key, null);
  });

  test('fit their own key and no other', async () => {
    const { facts } = await importCertificatePem(chain);
    assert.ok(certificateFitsKey(facts, (await importKey(files.pkcs8)).publicPem));
    assert.ok(!certificateFitsKey(facts, (await importKey(files.rsa_pkcs8)).publicPem));
  });

  test('alone are enough, self-signed or not', async () => {
    assert.equal((await importCertificatePem(files.leaf)).pem, files.leaf);
    const { facts } = await importCertificatePem(files.rsa_self_signed + files.rsa_pkcs8);
    assert.deepEqual([facts.keyType, facts.keySize, facts.subject], ['RSA', 2048, 'CN=self.example']);
  });

  test('of a long chain are put in issuing order', async () => {
    const { text, ordered } = await longChain(4);
    assert.equal((await importCertificatePem(text)).pem, ordered);
  });

  test('with a cross-signed authority keep both of its certificates, beside each other', async () => {
    const [leafKeys, root, older] = await Promise.all([newKeys(), newKeys(), newKeys()]);
    const leaf = await certify('leaf', leafKeys, 'root', root, false);
    const own = await certify('root', root, 'root', root);
    const crossed = await certify('root', root, 'older', older);
    const oldest = await certify('older', older, 'older', older);
    const { pem } = await importCertificatePem(oldest + crossed + own + leaf);
    assert.equal(pem, leaf + crossed + own + oldest);
  });

  test('are refused when one of them is no authority and yet issued another', async () => {
    const [first, second] = await Promise.all([newKeys(), newKeys()]);
    const issuer = await certify('issuer', first, 'someone', second, false);
    const leaf = await certify('leaf', second, 'issuer', first, false);
    await refused(importCertificatePem(issuer + leaf), 'pem', /more than one end certificate/);
  });

  const wrong: [name: string, text: string, field: string, reason: RegExp][] = [
    ['two leaves', files.leaf + files.rsa_self_signed, 'pem', /more than one end certificate/],
    [
      'a stranger beside a chain with a key',
      chain + files.rsa_self_signed + files.pkcs8,
      'pem',
      /not part of the chain/,
    ],
    ["another's key", chain + files.rsa_pkcs8, 'pem', /matches none/],
    ['two keys', chain + files.pkcs8 + files.rsa_pkcs8, 'pem', /more than one private key/],
    ['only a key', files.pkcs8, 'pem', /no certificate/],
    ['a missing passphrase', chain + files.scrypt, 'passphrase', /required/],
    ['too much', 'x'.repeat(300_000), 'pem', /larger than 262144/],
    ['too many blocks', chain.repeat(20), 'pem', /more than 32/],
  ];
  for (const [name, text, field, reason] of wrong)
    test(`are refused with ${name}`, () => refused(importCertificatePem(text), field, reason));

  test('are refused beyond ten of them', async () => {
    const { privatePem } = await keyFor({ key_type: 'EC', curve: 'P-256' });
    const many = await Promise.all(
      Array.from({ length: 11 }, (_, i) =>
        selfSign({ privatePem, subject: `CN=c${i}`, sans: [], notBefore, days: 1 }),
      ),
    );
    await refused(importCertificatePem(many.join('')), 'pem', /more than 10/);
  });
});

async function keyFor(spec: KeySpecification): Promise<{ privatePem: string; publicPem: string }> {
  const { pem, publicPem } = await generateKey(spec);
  return { privatePem: pem, publicPem };
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const newKeys = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
type Keys = Awaited<ReturnType<typeof newKeys>>;

async function certify(
  subject: string,
  keys: Keys,
  issuer: string,
  by: Keys,
  isAuthority = true,
): Promise<string> {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=${subject}`,
    issuer: `CN=${issuer}`,
    publicKey: keys.publicKey,
    signingKey: by.privateKey,
    signingAlgorithm: algorithm,
    extensions: [new x509.BasicConstraintsExtension(isAuthority)],
  });
  return `${certificate.toString('pem')}\n`;
}

/** A leaf under authorities that issue each other, the leaf last in `text`. */
async function longChain(length: number): Promise<{ text: string; ordered: string }> {
  const made: string[] = [];
  let by = await newKeys();
  for (let i = 0; i < length; i++) {
    const keys = await newKeys();
    made.push(await certify(`level ${i}`, keys, `level ${i - 1}`, by, i < length - 1));
    by = keys;
  }
  return { text: made.join(''), ordered: made.toReversed().join('') };
}

describe('PKCS#12', () => {
  const withKey = Object.entries(p12).filter(([name]) => name !== 'nomac' && name !== 'certs-only');
  for (const [name, file] of withKey)
    test(`${name}: certificates and key come out, and a wrong passphrase is said to be wrong`, async () => {
      const { pem, key, facts } = await importPkcs12(bytesOf(file), file.passphrase);
      assert.equal(pem, chain);
      assert.deepEqual(key, await importKey(files.pkcs8));
      assert.equal(facts.subject, 'CN=leaf.example,O=Vector Works,C=GB');
      await refused(importPkcs12(bytesOf(file), `${file.passphrase}x`), 'passphrase', /wrong/);
    });

  test('without a key gives certificates alone', async () => {
    const { pem, key } = await importPkcs12(bytesOf(p12['certs-only']), 'modern-pass');
    assert.deepEqual([pem, key], [files.leaf, null]);
  });

  test('made with an empty passphrase opens with an empty and with none', async () => {
    for (const file of [p12.empty, p12['legacy-empty']])
      for (const secret of ['', undefined])
        assert.equal((await importPkcs12(bytesOf(file), secret)).pem, chain);
  });

  test('made with an absent passphrase opens with an empty and with none', async () => {
    const content = seq(plainSafe(certificateBag(unpem(files.leaf))));
    // RFC 7292 B.2 by hand, for one round, no passphrase and a salt of one block: the input is salt alone.
    const salt = Buffer.alloc(64, 5);
    const macKey = createHash('sha256').update(Buffer.alloc(64, 3)).update(salt).digest();
    const file = pfx(content, macData(createHmac('sha256', macKey).update(content).digest(), salt, 1));
    for (const secret of ['', undefined]) assert.equal((await importPkcs12(file, secret)).pem, files.leaf);
    await refused(importPkcs12(file, 'x'), 'passphrase', /wrong/);
  });

  const pbmac1 = (content: Buffer, secret: string): Buffer => {
    const salt = Buffer.alloc(16, 4);
    const macKey = pbkdf2Sync(secret, salt, 2000, 32, 'sha256');
    const hmac = seq(oid(ids.hmacSha256), nil());
    const kdf = seq(oid(ids.pbkdf2), seq(octets(salt), int(2000), int(32), hmac));
    const digest = createHmac('sha256', macKey).update(content).digest();
    return seq(
      seq(seq(oid(ids.pbmac1), seq(kdf, hmac)), octets(digest)),
      octets(Buffer.from('unused')),
      int(1),
    );
  };

  test('with PBMAC1 (RFC 9579) is verified and opened', async () => {
    const key = bag(ids.keyBag, unpem(files.pkcs8));
    const content = seq(plainSafe(certificateBag(unpem(files.leaf)), key));
    const file = pfx(content, pbmac1(content, 'secret'));
    assert.ok((await importPkcs12(file, 'secret')).key);
    await refused(importPkcs12(file, 'wrong'), 'passphrase', /wrong/);
  });

  test('with two keys, with no certificate, or with a broken key is refused, once its MAC is good', async () => {
    const keyBag = bag(ids.keyBag, unpem(files.pkcs8));
    const leafBag = certificateBag(unpem(files.leaf));
    const open = (...bags: Buffer[]) => {
      const content = seq(plainSafe(...bags));
      return importPkcs12(pfx(content, pbmac1(content, 's')), 's');
    };
    await refused(open(leafBag, keyBag, keyBag), 'pkcs12', /more than one private key/);
    await refused(open(keyBag), 'pkcs12', /no certificate/);
    await refused(open(leafBag, bag(ids.keyBag, unpem(files.rsa_512))), 'pkcs12', /2048 to 8192/);
    await refused(open(leafBag, bag(ids.keyBag, unpem(files.rsa_pkcs8))), 'pkcs12', /matches none/);
  });

  test('without a MAC is refused', () =>
    refused(importPkcs12(bytesOf(p12.nomac), 'modern-pass'), 'pkcs12', /no MAC/));

  test('with a million and one iterations is refused before the derivation', async () => {
    const file = pfx(seq(), macData(Buffer.alloc(32), Buffer.alloc(8), 1_000_001));
    const refusing = () => refused(importPkcs12(file, 'x'), 'pkcs12', /iteration count over 1000000/);
    assert.ok(await isImmediate(refusing), 'nothing was derived');
  });
});

const signing: KeySpecification[] = [
  { key_type: 'RSA', key_size: 2048 },
  { key_type: 'EC', curve: 'P-256' },
  { key_type: 'EC', curve: 'P-384' },
  { key_type: 'EC', curve: 'P-521' },
  { key_type: 'OKP', curve: 'Ed25519' },
];
const unsigning: KeySpecification[] = [
  { key_type: 'EC', curve: 'secp256k1' },
  { key_type: 'OKP', curve: 'X25519' },
  { key_type: 'ML-DSA', key_size: 44 },
];
const subject = 'CN=Zoë\\, the first,O=A \\+ B,C=GB';
const sans = ['dns:a.example', 'ip:::1', 'ip:10.0.0.1', 'email:a@b.example', 'uri:https://a.example/x'];

describe('a certificate or request of our own', () => {
  for (const spec of signing)
    test(`is made with ${JSON.stringify(spec)}`, async () => {
      const { privatePem, publicPem } = await keyFor(spec);
      const made = await selfSign({ privatePem, subject, sans, notBefore, days: 9000, serial: '0abc' });
      const { facts, pem } = await importCertificatePem(made);
      assert.equal(pem, made);
      assert.equal(facts.subject, subject);
      assert.equal(facts.issuer, subject);
      assert.equal(facts.serial, '0abc');
      assert.deepEqual(facts.sans, sans);
      assert.equal(facts.notBefore.toISOString(), '2026-01-02T03:04:05.000Z');
      assert.equal(facts.expiresAt.getTime() - facts.notBefore.getTime(), 9000 * 86_400_000);
      assert.ok(certificateFitsKey(facts, publicPem));
      assert.ok(new X509Certificate(made).verify(createPublicKey(publicPem)));
      await checkRequest(privatePem, publicPem);
    });

  async function checkRequest(privatePem: string, publicPem: string): Promise<void> {
    const text = await signingRequest({ privatePem, subject, sans });
    assert.match(text, /^-----BEGIN CERTIFICATE REQUEST-----\n/);
    await import('reflect-metadata');
    const { Pkcs10CertificateRequest } = await import('@peculiar/x509');
    const request = new Pkcs10CertificateRequest(text);
    assert.ok(await request.verify());
    assert.deepEqual(request.subjectName.getField('CN'), ['Zoë, the first']);
    const extension = request.getExtension('2.5.29.17') as SubjectAlternativeNameExtension;
    assert.equal(extension.names.items.length, sans.length);
    assert.ok(createPublicKey(request.publicKey.toString('pem')).equals(createPublicKey(publicPem)));
  }

  for (const spec of unsigning)
    test(`is refused with ${JSON.stringify(spec)}`, async () => {
      const { privatePem } = await keyFor(spec);
      await refused(selfSign({ privatePem, subject, sans, notBefore, days: 1 }), 'key_id', /cannot sign/);
      await refused(signingRequest({ privatePem, subject, sans }), 'key_id', /cannot sign/);
    });

  test('is refused with bad names, dates and numbers, each by its field', async () => {
    const { privatePem, publicPem } = await keyFor({ key_type: 'OKP', curve: 'Ed25519' });
    const good = { privatePem, subject: 'CN=x', sans: [], notBefore, days: 1 };
    const subjects = [
      '',
      'x',
      'CN=',
      'XX=1',
      'CN=a,,',
      'CN=a\nb',
      'CN=a\0',
      'CN=a"b',
      'CN=a+O=b',
      'C=GBR',
      'CN= a',
      `CN=${'x'.repeat(65)}`,
      'CN=\ud800',
      '__proto__=a',
      'constructor=a',
      'DC=é',
      'x'.repeat(2000),
    ];
    for (const bad of subjects) await refused(selfSign({ ...good, subject: bad }), 'subject', /./);
    const names = [
      'a.example',
      'dns:',
      'dns:a b',
      'dns:-a',
      'dns:ä.example',
      'ip:1.2.3',
      'ip:fe80::1%eth0',
      'email:x',
      'uri:x',
      'dns:a\0.example',
      'toString:x',
      `dns:${'a.'.repeat(200)}a`,
    ];
    for (const bad of names) await refused(selfSign({ ...good, sans: [bad] }), 'sans', /./);
    for (const days of [0, -1, 1.5, Number.NaN, 1e9]) await refused(selfSign({ ...good, days }), 'days', /./);
    for (const date of [new Date(Number.NaN), new Date('1900-01-01'), new Date('9999-12-31')])
      await refused(selfSign({ ...good, notBefore: date }), 'not_before', /./);
    for (const serial of ['', '00', 'xyz', 'ff', '1'.repeat(60)])
      await refused(selfSign({ ...good, serial }), 'serial', /./);
    await refused(selfSign({ ...good, privatePem: publicPem }), 'key_id', /private key/);
  });

  test('gets a positive serial of sixteen bytes, never the same twice', async () => {
    const { privatePem } = await keyFor({ key_type: 'OKP', curve: 'Ed25519' });
    const request = { privatePem, subject: 'CN=x', sans: [], notBefore, days: 1 };
    const made = await Promise.all([selfSign(request), selfSign(request)]);
    const serials = made.map(text => new X509Certificate(text).serialNumber);
    for (const serial of serials) assert.match(serial, /^[4-7][0-9A-F]{31}$/);
    assert.notEqual(serials[0], serials[1]);
  });
});

describe('a local authority', () => {
  const names = ['localhost', '127.0.0.1', '::1'];

  test('issues a server certificate that TLS accepts under it', async () => {
    const authority = await keyFor({ key_type: 'EC', curve: 'P-256' });
    const server = await keyFor({ key_type: 'EC', curve: 'P-256' });
    const authorityPem = await selfSign({
      ...{ privatePem: authority.privatePem, subject: 'CN=Strongroom local,O=Strongroom', sans: [] },
      ...{ notBefore, days: 100, isAuthority: true },
    });
    const made = await issueServerCertificate({
      ...{ authorityPem, authorityPrivatePem: authority.privatePem, publicPem: server.publicPem },
      ...{ names, notBefore, days: 365 },
    });
    const { facts } = await importCertificatePem(authorityPem + made);
    assert.deepEqual(facts.sans, ['dns:localhost', 'ip:127.0.0.1', 'ip:::1']);
    assert.equal(facts.issuer, 'CN=Strongroom local,O=Strongroom');
    assert.equal(facts.expiresAt.getTime(), new X509Certificate(authorityPem).validToDate.getTime());
    const leaf = new X509Certificate(made);
    assert.ok(leaf.checkIssued(new X509Certificate(authorityPem)) && !leaf.ca);
    assert.ok(leaf.checkHost('localhost') && leaf.checkIP('::1'));
    createSecureContext({ cert: made, key: server.privatePem, ca: authorityPem });
  });

  test('must be one, and must come with its own key', async () => {
    const { privatePem, publicPem } = await keyFor({ key_type: 'EC', curve: 'P-256' });
    const request = { authorityPrivatePem: privatePem, publicPem, names, notBefore, days: 1 };
    const leaf = await selfSign({ privatePem, subject: 'CN=x', sans: [], notBefore, days: 1 });
    await refused(issueServerCertificate({ ...request, authorityPem: leaf }), 'authority', /can’t issue/);
    await refused(
      issueServerCertificate({ ...request, authorityPem: files.authority }),
      'authority',
      /another key/,
    );
  });
});
