/** Certificates through the general API: brought as PEM or PKCS#12, signed by a stored key, and never with a wrong one. */
import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type Json, unique } from './document.ts';
import { enginesInTurn, type Service, startService } from './harness.ts';
import vectors from './vectors/material.json' with { type: 'json' };

const { pem: files, pkcs12 } = vectors;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`certificates on ${engine}`, () => {
    let service: Service;
    let vaultId: string;

    before(async () => {
      service = await startService({ engine });
      vaultId = (await ok('POST', '/v1/vaults', { name: 'certificates' })).id;
    });
    after(() => service.stop());

    async function ok(method: string, path: string, body?: unknown): Promise<Json> {
      const answer = await service.call(method, path, body);
      assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
      return answer.body;
    }

    const send = (body: object) =>
      service.call('POST', '/v1/certificates', { vault_id: vaultId, name: unique('certificate'), ...body });

    async function make(body: object): Promise<Json> {
      const answer = await send(body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    }

    async function refused(body: object, field: string, reason: RegExp): Promise<void> {
      const { status, body: answer, text } = await send(body);
      assert.equal(status, 400, text);
      assert.equal(answer.error.details.field, field, text);
      assert.match(answer.error.details.reason, reason);
    }

    const key = (body: object) => ok('POST', '/v1/keys', { vault_id: vaultId, name: unique('key'), ...body });

    it('PEM comes in any order, without a key, and goes out leaf first', async () => {
      for (const pem of [files.leaf + files.authority, files.authority + files.leaf]) {
        const made = await make({ pem, tags: { a: 'b' } });
        assert.equal(made.key_id, null);
        const got = await ok('GET', `/v1/certificates/${made.id}`);
        assert.equal(got.pem, files.leaf + files.authority);
        assert.deepEqual(got.tags, { a: 'b' });
      }
    });

    it('what a certificate says stands in the answer', async () => {
      const made = await make({ pem: files.leaf });
      const leaf = new X509Certificate(files.leaf);
      assert.equal(made.type, 'x509');
      assert.equal(made.fingerprint, leaf.fingerprint256.replaceAll(':', '').toLowerCase());
      assert.equal(made.serial.toLowerCase(), leaf.serialNumber.toLowerCase());
      assert.equal(made.not_before, leaf.validFromDate.toISOString());
      assert.equal(made.expires_at, leaf.validToDate.toISOString());
      for (const member of ['subject', 'issuer']) assert.match(made[member], /CN=/);
      assert.ok(Array.isArray(made.sans));
      assert.equal('public_pem' in made, false);
    });

    it('a private key that comes along is stored as a key of its own, which the certificate names', async () => {
      const made = await make({ pem: files.leaf + files.pkcs8 + files.authority });
      const { pem } = await ok('POST', `/v1/keys/${made.key_id}/reveal`);
      assert.ok(createPrivateKey(pem).equals(createPrivateKey(files.pkcs8)));
      const got = await ok('GET', `/v1/certificates/${made.id}`);
      assert.equal(got.pem.includes('PRIVATE'), false);
    });

    const { nomac, ...whole } = pkcs12;
    for (const [name, { passphrase, base64 }] of Object.entries(whole)) {
      it(`PKCS#12 (${name}) is imported`, async () => {
        const made = await make({ pkcs12: base64, passphrase });
        assert.equal(made.key_id === null, name === 'certs-only', name);
        const got = await ok('GET', `/v1/certificates/${made.id}`);
        assert.match(got.pem, /^-----BEGIN CERTIFICATE-----/);
      });
    }

    it('a wrong or missing passphrase of a PKCS#12 is a clear error, and stores nothing', async () => {
      const before = (await ok('GET', '/v1/resources')).pagination.total;
      const { base64 } = pkcs12.modern;
      await refused({ pkcs12: base64, passphrase: 'wrong' }, 'passphrase', /wrong/);
      await refused({ pkcs12: base64 }, 'passphrase', /required|wrong/);
      await refused({ pkcs12: 'not base64!' }, 'pkcs12', /base64/);
      await refused({ pkcs12: nomac.base64, passphrase: nomac.passphrase }, 'pkcs12', /no MAC/);
      assert.equal((await ok('GET', '/v1/resources')).pagination.total, before);
    });

    it('a certificate that does not fit the key it names is refused, when made and when changed', async () => {
      const right = await key({ pem: files.pkcs8 });
      const wrong = await key({ generate: { key_type: 'EC', curve: 'P-256' } });
      await refused({ pem: files.leaf, key_id: wrong.id }, 'key_id', /does not match/);
      await refused({ pem: files.leaf + files.rsa_pkcs8 }, 'pem', /matches none/);
      const made = await make({ pem: files.leaf, key_id: right.id });
      assert.equal(made.key_id, right.id);
      const path = `/v1/certificates/${made.id}`;
      const changed = await service.call('PUT', path, { key_id: wrong.id });
      assert.equal(changed.status, 400);
      assert.equal((await ok('PUT', path, { key_id: null })).key_id, null);
      assert.equal((await ok('PUT', path, { key_id: right.id })).key_id, right.id);
    });

    it('a key of another vault, of another organization or of nobody is none of this vault', async () => {
      const { id: elsewhere } = await ok('POST', '/v1/vaults', { name: unique('elsewhere') });
      const far = await ok('POST', '/v1/keys', { vault_id: elsewhere, name: 'far', pem: files.pkcs8 });
      const nowhere = '01999999-9999-7999-8999-999999999999';
      for (const id of [far.id, nowhere])
        await refused({ pem: files.leaf, key_id: id }, 'key_id', /not the id of a key in this vault/);
    });

    for (const generate of [
      { key_type: 'RSA', key_size: 2048 },
      { key_type: 'EC', curve: 'P-384' },
      { key_type: 'OKP', curve: 'Ed25519' },
    ]) {
      it(`a stored key signs a certificate of its own and a signing request: ${JSON.stringify(generate)}`, async () => {
        const { id } = await key({ generate, exportable: false });
        const made = await make({
          key_id: id,
          self_signed: {
            subject: 'CN=example.com,O=Example',
            sans: ['dns:example.com', 'ip:10.0.0.1'],
            days: 30,
          },
        });
        const { pem } = await ok('GET', `/v1/certificates/${made.id}`);
        const certificate = new X509Certificate(pem);
        assert.ok(certificate.verify(certificate.publicKey));
        assert.equal(made.key_id, id);
        const lasting = Date.parse(made.expires_at) - Date.parse(made.not_before);
        assert.equal(Math.round(lasting / 86_400_000), 30);
        const request = await ok('POST', `/v1/keys/${id}/signing-request`, { subject: 'CN=example.com' });
        assert.match(request.pem, /^-----BEGIN CERTIFICATE REQUEST-----/);
        const { data } = await ok('GET', `/v1/audit-logs?subject_id=${id}`);
        const actions = data.map((entry: Json) => entry.action);
        assert.deepEqual(actions, ['key.signed_request', 'key.signed_certificate', 'key.created']);
      });
    }

    it('a key that can’t sign, or not now, is refused with its reason', async () => {
      const self_signed = { subject: 'CN=x' };
      for (const generate of [
        { key_type: 'OKP', curve: 'X25519' },
        { key_type: 'ML-DSA', key_size: 65 },
      ]) {
        const { id } = await key({ generate });
        await refused({ key_id: id, self_signed }, 'key_id', /cannot sign certificates/);
      }
      const half = await key({ pem: files.rsa_pkcs1_public });
      await refused({ key_id: half.id, self_signed }, 'key_id', /private key/);
      const later = await key({
        generate: { key_type: 'EC', curve: 'P-256' },
        activation_date: '2099-01-01T00:00:00Z',
      });
      await refused({ key_id: later.id, self_signed }, 'key_id', /not active/);
      await refused({ self_signed }, 'key_id', /must name the signing key/);
    });

    it('exactly one source must be given', async () => {
      await refused({}, 'pem', /exactly one/);
      await refused({ pem: files.leaf, pkcs12: pkcs12.modern.base64 }, 'pem', /exactly one/);
    });
  });
}
