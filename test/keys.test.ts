/** Keys through the general API: every kind generated, every encoding imported, and what may never come out. */
import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type Json, unique } from './document.ts';
import { enginesInTurn, type Service, startService } from './harness.ts';
import vectors from './vectors/material.json' with { type: 'json' };

const { pem: files } = vectors;

const kinds: [specification: Json, size: number, curve: string | null, type: string][] = [
  [{ key_type: 'RSA', key_size: 2048 }, 2048, null, 'rsa'],
  [{ key_type: 'RSA' }, 3072, null, 'rsa'],
  [{ key_type: 'RSA', key_size: 4096 }, 4096, null, 'rsa'],
  [{ key_type: 'EC', curve: 'P-256' }, 256, 'P-256', 'ec'],
  [{ key_type: 'EC', curve: 'P-384' }, 384, 'P-384', 'ec'],
  [{ key_type: 'EC', curve: 'P-521' }, 521, 'P-521', 'ec'],
  [{ key_type: 'EC', curve: 'secp256k1' }, 256, 'secp256k1', 'ec'],
  [{ key_type: 'OKP', curve: 'Ed25519' }, 256, 'Ed25519', 'ed25519'],
  [{ key_type: 'OKP', curve: 'X25519' }, 256, 'X25519', 'x25519'],
  [{ key_type: 'ML-DSA', key_size: 44 }, 44, null, 'ml-dsa-44'],
  [{ key_type: 'ML-DSA', key_size: 65 }, 65, null, 'ml-dsa-65'],
  [{ key_type: 'ML-DSA', key_size: 87 }, 87, null, 'ml-dsa-87'],
  [{ key_type: 'ML-KEM', key_size: 512 }, 512, null, 'ml-kem-512'],
  [{ key_type: 'ML-KEM', key_size: 768 }, 768, null, 'ml-kem-768'],
  [{ key_type: 'ML-KEM', key_size: 1024 }, 1024, null, 'ml-kem-1024'],
];

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`keys on ${engine}`, () => {
    let service: Service;
    let vaultId: string;

    before(async () => {
      service = await startService({ engine });
      vaultId = (await ok('POST', '/v1/vaults', { name: 'keys' })).id;
    });
    after(() => service.stop());

    async function ok(method: string, path: string, body?: unknown): Promise<Json> {
      const answer = await service.call(method, path, body);
      assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
      return answer.body;
    }

    const make = (body: object) =>
      ok('POST', '/v1/keys', { vault_id: vaultId, name: unique('key'), ...body });
    const reveal = (id: string) => ok('POST', `/v1/keys/${id}/reveal`);
    const generate = { key_type: 'EC', curve: 'P-256' };

    for (const [specification, size, curve, type] of kinds) {
      it(`${JSON.stringify(specification)} is generated, shown without its private half, and revealed`, async () => {
        const key = await make({ generate: specification });
        const { key_type, key_size } = key;
        assert.deepEqual([key_type, key_size, key.curve], [specification.key_type, size, curve]);
        assert.deepEqual([key.type, key.exportable, key.version], ['private', true, 1]);
        assert.equal(JSON.stringify(key).includes('PRIVATE'), false);
        assert.deepEqual(await ok('GET', `/v1/keys/${key.id}`), key);
        const { pem } = await reveal(key.id);
        const opened: KeyObject = createPrivateKey(pem);
        assert.equal(opened.asymmetricKeyType, type);
        assert.ok(createPublicKey(pem).equals(createPublicKey(key.public_pem)));
      });
    }

    const imports: [name: string, body: Json, same: string][] = [
      ['PKCS#8', { pem: files.pkcs8 }, files.pkcs8],
      ['PKCS#1', { pem: files.rsa_pkcs1 }, files.rsa_pkcs8],
      ['SEC1 with parameters', { pem: files.sec1_with_parameters }, files.pkcs8],
      ['passphrase-protected PKCS#8', { pem: files.scrypt, passphrase: 'modern-pass' }, files.pkcs8],
      [
        'passphrase-protected legacy PEM',
        { pem: files.legacy_encrypted, passphrase: 'modern-pass' },
        files.pkcs8,
      ],
    ];
    for (const [name, body, same] of imports) {
      it(`${name} is imported, and given back as PKCS#8`, async () => {
        const key = await make(body);
        assert.equal(key.type, 'private');
        const { pem } = await reveal(key.id);
        assert.match(pem, /^-----BEGIN PRIVATE KEY-----/);
        assert.ok(createPrivateKey(pem).equals(createPrivateKey(same)));
      });
    }

    it('SPKI and a PKCS#1 public key are imported as what they are, and given back as SPKI', async () => {
      const spki = createPublicKey(files.pkcs8).export({ type: 'spki', format: 'pem' });
      for (const pem of [spki, files.rsa_pkcs1_public]) {
        const key = await make({ pem });
        assert.equal(key.type, 'public');
        const revealed = await reveal(key.id);
        assert.match(revealed.pem, /^-----BEGIN PUBLIC KEY-----/);
        assert.equal(revealed.pem, key.public_pem);
      }
    });

    it('a wrong passphrase and a missing one are named', async () => {
      for (const passphrase of [{ passphrase: 'wrong' }, {}]) {
        const body = { vault_id: vaultId, name: unique('key'), pem: files.scrypt, ...passphrase };
        const { status, body: answer } = await service.call('POST', '/v1/keys', body);
        assert.equal(status, 400);
        assert.equal(answer.error.details.field, 'passphrase');
      }
    });

    it('a rotation makes a new version of the same kind, or of what is given', async () => {
      const key = await make({ generate });
      const second = await ok('POST', `/v1/keys/${key.id}/rotate`);
      assert.deepEqual([second.id, second.version, second.curve], [key.id, 2, 'P-256']);
      assert.notEqual(second.public_pem, key.public_pem);
      const third = await ok('POST', `/v1/keys/${key.id}/rotate`, {
        generate: { key_type: 'OKP', curve: 'Ed25519' },
      });
      assert.deepEqual([third.version, third.key_type], [3, 'OKP']);
      const fourth = await ok('POST', `/v1/keys/${key.id}/rotate`, {
        pem: files.scrypt,
        passphrase: 'modern-pass',
      });
      assert.equal(fourth.version, 4);
      const { pem } = await reveal(key.id);
      assert.ok(createPrivateKey(pem).equals(createPrivateKey(files.pkcs8)));
      const versions = await ok('GET', `/v1/keys/${key.id}/versions`);
      assert.deepEqual(
        versions.data.map((one: Json) => [one.version, one.current]),
        [
          [4, true],
          [3, false],
          [2, false],
          [1, false],
        ],
      );
    });

    it('a key that is not exportable never gives its private half, before or after a rotation', async () => {
      const key = await make({ generate, exportable: false });
      assert.deepEqual([key.type, key.exportable], ['public', false]);
      const certificate = await ok('POST', '/v1/certificates', {
        vault_id: vaultId,
        name: 'by-inner-key',
        key_id: key.id,
        self_signed: { subject: 'CN=inside' },
      });
      const token = (await ok('POST', '/v1/access-keys', { vault_id: vaultId, name: 'reader' })).token;
      for (let round = 0; round < 2; round++) {
        const surfaces = [
          await service.call('POST', `/v1/keys/${key.id}/reveal`),
          await service.call('GET', `/v1/keys/${key.id}`),
          await service.call('GET', `/v1/resources/${key.id}`),
          await service.call('GET', '/v1/keys'),
          await service.call('GET', `/v1/keys/${key.id}/versions`),
          await service.call('GET', `/v1/certificates/${certificate.id}`),
          await service.call('POST', `/v1/keys/${key.id}/signing-request`, { subject: 'CN=inside' }),
          await service.call('GET', `/api/v1/vaults/${vaultId}?include=keys`, undefined, token),
          await service.call('GET', `/api/v1/vaults/${vaultId}?resource=${key.id}`, undefined, token),
          await service.call('GET', `/v1/audit-logs?subject_id=${key.id}`),
        ];
        for (const answer of surfaces) assert.equal(answer.text.includes('PRIVATE KEY'), false, answer.text);
        assert.equal(surfaces[0]!.status, 403);
        assert.match(surfaces[8]!.text, /^-----BEGIN PUBLIC KEY-----/);
        const rotated = await ok('POST', `/v1/keys/${key.id}/rotate`);
        assert.equal(rotated.exportable, false);
      }
    });

    it('generating does not hold other requests up', async () => {
      let generating = true;
      const made = make({ generate: { key_type: 'RSA', key_size: 4096 } }).then(() => {
        generating = false;
      });
      let answered = 0;
      while (generating && answered < 20) {
        await ok('GET', '/v1/vaults');
        if (generating) answered += 1;
      }
      await made;
      assert.equal(answered, 20, 'requests were answered only once the key was made');
    });

    it('dates are kept, and a name is unique among the keys of its vault', async () => {
      const dates = {
        activation_date: '2027-01-01T00:00:00.000Z',
        expiration_date: '2028-01-01T00:00:00.000Z',
      };
      const key = await make({ generate, ...dates, tags: { a: 'b' } });
      assert.deepEqual([key.activation_date, key.expiration_date], Object.values(dates));
      assert.deepEqual(key.tags, { a: 'b' });
      const changed = await ok('PUT', `/v1/keys/${key.id}`, { expiration_date: null });
      assert.deepEqual([changed.activation_date, changed.expiration_date], [dates.activation_date, null]);
      const again = await service.call('POST', '/v1/keys', { vault_id: vaultId, name: key.name, generate });
      assert.equal(again.body.error.code, 'CONFLICT');
      await ok('POST', '/v1/secrets', {
        vault_id: vaultId,
        name: key.name,
        value: 'another type may share it',
      });
    });
  });
}
