/** What is stored, signed and revealed of keys and certificates, and what is refused: row by row, in the domain alone. */
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { CertificateCreate } from '../src/contract/certificates.ts';
import type { KeyCreate } from '../src/contract/keys.ts';
import { type DomainWorld, openDomain } from './domain-world.ts';
import { refusalOf } from './refusal-of.ts';
import vectors from './vectors/material.json' with { type: 'json' };

const { pem: files, pkcs12 } = vectors;
const generate = { key_type: 'EC', curve: 'P-256' } as const;

describe('keys and certificates', () => {
  let world: DomainWorld;
  let vaultId: string;
  let count = 0;

  before(async () => {
    world = await openDomain();
    vaultId = (await world.domain.vaults.create(world.operator, { name: 'material' })).id;
  });
  after(() => world.close());

  const place = () => ({ vault_id: vaultId, name: `N${++count}` });
  const key = (body: Partial<KeyCreate>) =>
    world.domain.keys.create(world.operator, { ...place(), ...body } as KeyCreate);
  const certificate = (body: Partial<CertificateCreate>) =>
    world.domain.certificates.create(world.operator, { ...place(), ...body } as CertificateCreate);
  const reveal = (id: string) => world.domain.keys.reveal(world.operator, id);
  const rotate = (id: string, body: object = {}) => world.domain.keys.rotate(world.operator, id, body);
  const publicPem = createPublicKey(files.pkcs8).export({ type: 'spki', format: 'pem' }) as string;

  it('a key gives its private half where it is exportable, and its public half always', async () => {
    const rows: [Partial<KeyCreate>, string, boolean, boolean][] = [
      [{ generate }, 'private', true, true],
      [{ generate, exportable: true }, 'private', true, true],
      [{ generate, exportable: false }, 'public', true, false],
      [{ pem: publicPem }, 'public', false, true],
      [{ pem: publicPem, exportable: false }, 'public', false, true],
    ];
    for (const [body, type, hasPrivate, isRevealed] of rows) {
      const made = await key(body);
      const what = JSON.stringify(body);
      assert.deepEqual([made.type, made.has_private_key], [type, hasPrivate], what);
      assert.equal(made.exportable, body.exportable ?? true, what);
      const expected = isRevealed ? 'done' : 'FORBIDDEN: The key is not exportable';
      assert.equal(await refusalOf(reveal(made.id)), expected, what);
    }
  });

  it('a key is rotated to one of its kind, or to what is given', async () => {
    const kindOf = ({ key_type, key_size, curve, exportable, version }: Awaited<ReturnType<typeof key>>) => [
      key_type,
      key_size,
      curve,
      exportable,
      version,
    ];
    const elliptic = await key({ generate, exportable: false });
    assert.deepEqual(kindOf(await rotate(elliptic.id)), ['EC', 256, 'P-256', false, 2]);
    const other = await rotate(elliptic.id, { generate: { key_type: 'EC', curve: 'P-384' } });
    assert.deepEqual(kindOf(other), ['EC', 384, 'P-384', false, 3]);
    const brought = await rotate(elliptic.id, { pem: files.pkcs8 });
    assert.deepEqual([brought.public_pem, brought.version], [publicPem, 4]);
    const lattice = await key({ generate: { key_type: 'ML-DSA', key_size: 44 } });
    assert.deepEqual(kindOf(await rotate(lattice.id)), ['ML-DSA', 44, null, true, 2]);
    const usual = await key({ generate: { key_type: 'RSA', key_size: 2048 } });
    assert.deepEqual(kindOf(await rotate(usual.id)), ['RSA', 2048, null, true, 2]);
  });

  it('a key of a size that is not generated is rotated to what is given alone', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2056 });
    const odd = await key({ pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string });
    assert.equal(
      await refusalOf(rotate(odd.id)),
      'INVALID_REQUEST: generate is required: keys of the current size can’t be generated',
    );
    assert.equal((await rotate(odd.id, { generate })).version, 2);
  });

  it('a certificate keeps the key that it names, and a change that says nothing of it leaves it', async () => {
    const right = await key({ pem: files.pkcs8 });
    const made = await certificate({ pem: files.leaf, key_id: right.id });
    const update = (body: object) => world.domain.certificates.update(world.operator, made.id, body);
    assert.equal((await update({ name: 'RENAMED' })).key_id, right.id);
    assert.equal((await update({ key_id: null })).key_id, null);
    assert.equal((await update({ key_id: right.id })).key_id, right.id);
    const wrong = await key({ generate });
    const refused = 'INVALID_REQUEST: key_id names a key that does not match the certificate';
    assert.equal(await refusalOf(update({ key_id: wrong.id })), refused);
    assert.equal(await refusalOf(certificate({ pem: files.leaf, key_id: wrong.id })), refused);
    const alone = await certificate({ pem: files.leaf });
    assert.equal(alone.key_id, null);
  });

  it('a certificate that brings its private key names that one, and no other', async () => {
    const other = await key({ pem: files.pkcs8 });
    const pem = files.leaf + files.pkcs8;
    assert.equal(
      await refusalOf(certificate({ pem, key_id: other.id })),
      'INVALID_REQUEST: key_id can’t be combined with a private key',
    );
    const made = await certificate({ pem });
    const own = await world.domain.keys.get(world.operator, made.key_id!);
    assert.deepEqual([own.name, own.has_private_key], [made.name, true]);
    assert.notEqual(made.key_id, other.id);
    const { base64, passphrase } = pkcs12.modern;
    assert.notEqual((await certificate({ pkcs12: base64, passphrase })).key_id, null);
  });

  it('a PKCS#12 is base64, in lines of any length', async () => {
    const { base64, passphrase } = pkcs12.modern;
    const lines = base64.replaceAll(/\s/g, '').replaceAll(/(.{10})/g, '$1\r\n');
    assert.ok(await certificate({ pkcs12: lines, passphrase }));
    for (const wrong of ['A!AA', 'AAA', 'AAAAA', 'A===', '', 'AA=A'])
      assert.equal(
        await refusalOf(certificate({ pkcs12: wrong, passphrase })),
        'INVALID_REQUEST: pkcs12 must be base64',
        wrong,
      );
  });

  it('a stored key signs for names that can be written down, while it is active', async () => {
    const { id } = await key({ generate });
    const sign = (body: object) =>
      certificate({ key_id: id, self_signed: { subject: 'CN=a', days: 1, ...body } });
    const request = (subject: string, sans: string[] = []) =>
      world.domain.certificates.requestFor(world.operator, id, subject, sans);
    assert.deepEqual((await sign({})).sans, []);
    assert.deepEqual((await sign({ sans: ['dns:example.org'] })).sans, ['dns:example.org']);
    await request('CN=a');
    assert.match(await refusalOf(sign({ subject: 'nonsense' })), /^INVALID_REQUEST: self_signed\.subject /);
    assert.match(await refusalOf(sign({ sans: ['ip:nonsense'] })), /^INVALID_REQUEST: self_signed\.sans/);
    assert.match(await refusalOf(request('nonsense')), /^INVALID_REQUEST: subject /);
    assert.match(await refusalOf(request('CN=a', ['ip:nonsense'])), /^INVALID_REQUEST: sans/);
    const [newest] = await world.audits(1);
    assert.equal(newest!.action, 'key.signed_request', 'the key is used for none of these');
    const half = await key({ pem: publicPem });
    const over = await key({ generate, expiration_date: world.now() + 1 });
    world.pass(1);
    const signedBy = (key_id: string) =>
      refusalOf(certificate({ key_id, self_signed: { subject: 'CN=a', days: 1 } }));
    assert.equal(await signedBy(half.id), 'INVALID_REQUEST: key_id names a key without a private key');
    assert.equal(await signedBy(over.id), 'INVALID_REQUEST: key_id names a key that is not active');
  });

  it('a key of another vault is none of this one', async () => {
    const { id } = await world.domain.vaults.create(world.operator, { name: 'elsewhere' });
    const far = await key({ vault_id: id, pem: files.pkcs8 });
    assert.equal(
      await refusalOf(certificate({ pem: files.leaf, key_id: far.id })),
      'INVALID_REQUEST: key_id is not the id of a key in this vault',
    );
  });
});
