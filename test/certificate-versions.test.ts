/**
 * A certificate is renewed under its id and name: readers get the new one at once, with a private key that matches, and
 * an earlier version comes back together with its key.
 */
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { after, before, it } from 'node:test';
import { issueServerCertificate, selfSign } from '../src/material/certificate-issue.ts';
import { onBothEngines } from './at-once.ts';
import { type Json, unique } from './document.ts';
import { callService, eventually, type Service, startService } from './harness.ts';
import { modernCall } from './mcp-world.ts';
import vectors from './vectors/material.json' with { type: 'json' };

const day = 86_400_000;

interface Pair {
  readonly privatePem: string;
  readonly publicPem: string;
}

function pair(): Pair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
  };
}

onBothEngines('a certificate that is renewed', engine => {
  let service: Service;
  let vaultId: string;
  let token: string;
  let authorityPem: string;
  const authority = pair();

  before(async () => {
    service = await startService({ engine });
    vaultId = (await ok('POST', '/v1/vaults', { name: 'certificates' })).id;
    token = (await ok('POST', '/v1/access-keys', { vault_id: vaultId, name: 'reader' })).token;
    authorityPem = await selfSign({
      privatePem: authority.privatePem,
      subject: 'CN=Test authority',
      sans: [],
      notBefore: new Date(service.clock.now() - day),
      days: 3650,
      isAuthority: true,
    });
  });
  after(() => service.stop());

  async function ok(method: string, path: string, body?: unknown, key?: string): Promise<Json> {
    const answer = await service.call(method, path, body, key);
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    return answer.body;
  }

  async function refused(
    method: string,
    path: string,
    body: unknown,
    field: string,
    reason: RegExp,
  ): Promise<void> {
    const { status, body: answer, text } = await service.call(method, path, body);
    assert.equal(status, 400, text);
    assert.equal(answer.error.details.field, field, text);
    assert.match(answer.error.details.reason, reason);
  }

  const issue = (publicPem: string, days: number, from = service.clock.now()): Promise<string> =>
    issueServerCertificate({
      authorityPem,
      authorityPrivatePem: authority.privatePem,
      publicPem,
      names: ['shop.example.com'],
      notBefore: new Date(from),
      days,
    });

  async function stored(days = 30): Promise<{ own: Pair; first: string; certificate: Json }> {
    const own = pair();
    const first = await issue(own.publicPem, days);
    const certificate = await ok('POST', '/v1/certificates', {
      vault_id: vaultId,
      name: unique('shop'),
      pem: first + own.privatePem,
    });
    return { own, first, certificate };
  }

  const of = ({ id }: Json) => `/v1/certificates/${id}`;
  const read = (query: string, headers = {}, url = service.url) =>
    callService(url, 'GET', `/api/v1/vaults/${vaultId}?${query}`, undefined, token, headers);
  const actionsOn = async (id: string) =>
    (await ok('GET', `/v1/audit-logs?subject_id=${id}`)).data.map(({ action }: Json) => action);

  /** What a reader gets of both, which must belong together. */
  async function bothRead({ id, key_id }: Json): Promise<{ certificate: string; key: string }> {
    const [certificate, key] = [await read(`resource=${id}`), await read(`resource=${key_id}`)];
    const isFor: KeyObject = new X509Certificate(certificate.text).publicKey;
    assert.ok(isFor.equals(createPublicKey(key.text)), 'the key is the certificate’s');
    return { certificate: certificate.text, key: key.text };
  }

  it('keeps its id, its name and its key, and is served at once in every form', async () => {
    const { own, first, certificate } = await stored();
    const before = await read('include=certificates');
    const etag = before.headers.get('etag')!;
    assert.equal((await read('include=certificates', { 'if-none-match': etag })).status, 304);
    const second = await issue(own.publicPem, 90);
    const renewed = await ok('PUT', of(certificate), { pem: second });
    assert.deepEqual(
      [renewed.id, renewed.name, renewed.key_id, renewed.version],
      [certificate.id, certificate.name, certificate.key_id, 2],
    );
    assert.ok(renewed.expires_at > certificate.expires_at);
    const now = await read('include=certificates', { 'if-none-match': etag });
    assert.equal(now.status, 200);
    assert.notEqual(now.headers.get('etag'), etag);
    const listed = now.body.certificates.find(({ id }: Json) => id === certificate.id);
    assert.equal(listed.expires_at, renewed.expires_at);
    assert.equal((await bothRead(renewed)).certificate, second);
    const tool = await modernCall(service.url, 'certificates.get', { id: certificate.id }, { key: token });
    assert.equal(tool.body.result.structuredContent.pem, second);
    assert.equal((await ok('GET', `/v1/keys/${certificate.key_id}`)).version, 1, 'the key is as it was');
    const { data } = await ok('GET', `${of(certificate)}/versions`);
    assert.deepEqual(
      data.map((one: Json) => [one.version, one.current, one.expires_at]),
      [
        [2, true, renewed.expires_at],
        [1, false, certificate.expires_at],
      ],
    );
    assert.deepEqual(
      data.map((one: Json) => [one.fingerprint, one.serial, one.not_before]),
      [renewed, certificate].map((one: Json) => [one.fingerprint, one.serial, one.not_before]),
    );
    assert.equal(new X509Certificate(first).serialNumber.toLowerCase(), data[1].serial);
    assert.deepEqual(await actionsOn(certificate.id), ['certificate.updated', 'certificate.created']);
  });

  it('with another private key makes that a new version of its key, in the same step', async () => {
    const { certificate } = await stored();
    await ok('POST', '/v1/access-keys', { vault_id: vaultId, name: unique('reader') });
    const other = pair();
    const renewed = await ok('PUT', of(certificate), {
      name: unique('renamed'),
      pem: (await issue(other.publicPem, 60)) + other.privatePem,
    });
    assert.deepEqual([renewed.key_id, renewed.version], [certificate.key_id, 2]);
    const { key } = await bothRead(renewed);
    assert.ok(createPublicKey(key).equals(createPublicKey(other.publicPem)));
    assert.deepEqual(await actionsOn(certificate.key_id), ['key.rotated', 'key.created']);
    const [entry] = (await ok('GET', `/v1/audit-logs?subject_id=${certificate.id}`)).data;
    assert.deepEqual([entry.action, entry.details.version], ['certificate.updated', 2]);
  });

  it('comes as PKCS#12 too, with its key', async () => {
    const { certificate } = await stored();
    const { base64, passphrase } = vectors.pkcs12.modern;
    const renewed = await ok('PUT', of(certificate), { pkcs12: base64, passphrase });
    assert.deepEqual([renewed.version, renewed.key_id], [2, certificate.key_id]);
    await bothRead(renewed);
    await refused('PUT', of(certificate), { pkcs12: base64, passphrase: 'wrong' }, 'passphrase', /wrong/);
  });

  it('stays as it is if the new one does not match its key, has expired, or is sent back unchanged', async () => {
    const { own, first, certificate } = await stored();
    const other = pair();
    const path = of(certificate);
    await refused('PUT', path, { pem: await issue(other.publicPem, 60) }, 'key_id', /does not match/);
    const old = await issue(own.publicPem, 1, service.clock.now() - 10 * day);
    await refused('PUT', path, { pem: old }, 'pem', /has expired/);
    const pem = (await issue(other.publicPem, 60)) + other.privatePem;
    for (const key_id of [certificate.key_id, null])
      await refused('PUT', path, { pem, key_id }, 'key_id', /can’t be combined/);
    await refused('PUT', path, { pem, pkcs12: 'AAAA' }, 'pem', /can’t be combined/);
    await refused('PUT', path, { passphrase: 'x' }, 'passphrase', /only allowed with/);
    await refused('PUT', path, { pem: 'none' }, 'pem', /./);
    const got = await ok('GET', path);
    assert.deepEqual([got.version, got.pem], [1, first]);
    const back = await ok('PUT', path, { ...got, tags: { a: 'b' } });
    assert.deepEqual([back.version, back.tags], [1, { a: 'b' }]);
    assert.equal((await ok('PUT', path, { pem: first + own.privatePem })).version, 1);
    assert.equal((await ok('GET', `/v1/keys/${certificate.key_id}`)).version, 1);
  });

  it('may change its key with it, or name none', async () => {
    const { certificate } = await stored();
    const key = await ok('POST', '/v1/keys', {
      vault_id: vaultId,
      name: unique('key'),
      generate: { key_type: 'EC', curve: 'P-256' },
    });
    const pem = await issue(key.public_pem, 60);
    assert.equal((await ok('PUT', of(certificate), { pem, key_id: key.id })).key_id, key.id);
    const foreign = await issue(pair().publicPem, 60);
    assert.equal((await ok('PUT', of(certificate), { pem: foreign, key_id: null })).key_id, null);
    const other = pair();
    const own = (await issue(other.publicPem, 60)) + other.privatePem;
    const conflict = await service.call('PUT', of(certificate), { pem: own });
    assert.equal(conflict.status, 400, 'the key of the first version has that name');
    await ok('DELETE', `/v1/keys/${certificate.key_id}`);
    const renewed = await ok('PUT', of(certificate), { pem: own });
    assert.equal((await ok('GET', `/v1/keys/${renewed.key_id}`)).name, certificate.name);
    await bothRead(renewed);
  });

  it('goes back to an earlier version together with its key, and not to one without its key', async () => {
    const { first, own, certificate } = await stored();
    const other = pair();
    await ok('PUT', of(certificate), { pem: (await issue(other.publicPem, 60)) + other.privatePem });
    const rolled = await ok('POST', `${of(certificate)}/rollback`, { version: 1 });
    assert.deepEqual(
      [rolled.version, rolled.expires_at, rolled.fingerprint, rolled.key_id],
      [3, certificate.expires_at, certificate.fingerprint, certificate.key_id],
    );
    const both = await bothRead(rolled);
    assert.equal(both.certificate, first);
    assert.ok(createPublicKey(both.key).equals(createPublicKey(own.publicPem)));
    assert.deepEqual(await actionsOn(certificate.key_id), ['key.rolled_back', 'key.rotated', 'key.created']);
    assert.deepEqual(await actionsOn(certificate.id), [
      'certificate.rolled_back',
      'certificate.updated',
      'certificate.created',
    ]);
    await refused('POST', `${of(certificate)}/rollback`, { version: 9 }, 'version', /not a version of this/);
    const key = await ok('POST', '/v1/keys', {
      vault_id: vaultId,
      name: unique('key'),
      generate: { key_type: 'EC', curve: 'P-256' },
    });
    await ok('PUT', of(certificate), { pem: await issue(key.public_pem, 60), key_id: key.id });
    const back = await ok('POST', `${of(certificate)}/rollback`, { version: 1 });
    assert.equal(back.key_id, certificate.key_id, 'the key that it had');
    await ok('PUT', of(certificate), { pem: await issue(key.public_pem, 60), key_id: key.id });
    await ok('DELETE', `/v1/keys/${certificate.key_id}?purge=true`);
    await refused('POST', `${of(certificate)}/rollback`, { version: 1 }, 'version', /is not in this vault/);
  });

  it('does not go back to a version that has expired', async () => {
    const { own, certificate } = await stored(1);
    await ok('PUT', of(certificate), { pem: await issue(own.publicPem, 90) });
    service.clock.pass(2 * day);
    await refused('POST', `${of(certificate)}/rollback`, { version: 1 }, 'version', /has expired/);
  });

  it('gives a signing request with its own names, and takes what was signed for its key', async () => {
    const { certificate } = await stored();
    const { version } = await ok('POST', `/v1/keys/${certificate.key_id}/rotate`);
    assert.equal(version, 2);
    const path = `${of(certificate)}/signing-request`;
    const { pem } = await ok('POST', path);
    const x509 = await import('@peculiar/x509');
    const request = new x509.Pkcs10CertificateRequest(pem);
    assert.ok(await request.verify());
    assert.equal(request.subject, 'CN=shop.example.com');
    const alternativeNames = Buffer.from(request.getExtension('2.5.29.17')!.value);
    assert.ok(alternativeNames.includes('shop.example.com'));
    const signed = await issue(request.publicKey.toString('pem'), 90);
    const renewed = await ok('PUT', of(certificate), { pem: signed });
    assert.deepEqual([renewed.version, renewed.key_id], [2, certificate.key_id]);
    await bothRead(renewed);
    const other = await ok('POST', path, { subject: 'CN=other', sans: [] });
    assert.equal(new x509.Pkcs10CertificateRequest(other.pem).subject, 'CN=other');
    const { data } = await ok('GET', `/v1/audit-logs?subject_id=${certificate.key_id}`);
    assert.equal(data[0].action, 'key.signed_request');
    await ok('PUT', of(certificate), { key_id: null });
    await refused('POST', path, {}, 'key_id', /not stored/);
  });

  it('is signed again by its own key if it is self-signed', async () => {
    const key = await ok('POST', '/v1/keys', {
      vault_id: vaultId,
      name: unique('key'),
      generate: { key_type: 'OKP', curve: 'Ed25519' },
      exportable: false,
    });
    const self_signed = { subject: 'CN=inside', days: 10 };
    const made = await ok('POST', '/v1/certificates', {
      vault_id: vaultId,
      name: unique('inside'),
      key_id: key.id,
      self_signed,
    });
    const renewed = await ok('PUT', of(made), { self_signed: { ...self_signed, days: 20 } });
    assert.deepEqual([renewed.version, renewed.key_id], [2, key.id]);
    assert.ok(renewed.expires_at > made.expires_at);
    await ok('PUT', of(made), { key_id: null });
    await refused('PUT', of(made), { self_signed }, 'key_id', /must name the signing key/);
  });

  it('requires what a key of its own would: another private key needs keys:write, an earlier one keys:reveal', async () => {
    const { own, certificate } = await stored();
    const other = pair();
    const another = (await issue(other.publicPem, 60)) + other.privatePem;
    const apiKey = async (...scopes: string[]) =>
      (await ok('POST', '/v1/api-keys', { name: unique('scoped'), role: 'editor', scopes })).token as string;
    const certificates = ['certificates:read', 'certificates:write'];
    const status = async (key: string, method: string, path: string, body: unknown) =>
      (await service.call(method, path, body, key)).status;
    const blind = await apiKey(...certificates);
    const pem = await issue(own.publicPem, 60);
    assert.equal(await status(blind, 'PUT', of(certificate), { pem }), 403, 'it would learn which key');
    assert.equal(await status(blind, 'POST', `${of(certificate)}/signing-request`, {}), 403);
    const reader = await apiKey(...certificates, 'keys:read');
    assert.equal(await status(reader, 'PUT', of(certificate), { pem: another }), 403);
    assert.equal((await ok('GET', of(certificate))).version, 1, 'nothing was stored');
    assert.equal(await status(reader, 'PUT', of(certificate), { pem }), 200);
    const writer = await apiKey(...certificates, 'keys:read', 'keys:write');
    assert.equal(await status(writer, 'PUT', of(certificate), { pem: another }), 200);
    const path = `${of(certificate)}/rollback`;
    assert.equal(await status(reader, 'POST', path, { version: 1 }), 403);
    assert.equal(await status(writer, 'POST', path, { version: 1 }), 403, 'the reader would get its key');
    assert.equal((await ok('GET', of(certificate))).version, 3);
    const revealing = await apiKey(...certificates, 'keys:read', 'keys:write', 'keys:reveal');
    assert.equal(await status(revealing, 'POST', path, { version: 1 }), 200);
    const names = await apiKey('certificates:read');
    assert.equal(await status(names, 'POST', path, { version: 1 }), 403);
    assert.equal((await service.call('GET', `${of(certificate)}/versions`, undefined, names)).status, 200);
  });

  it('that several renew at once gets a version from each, and always a key that matches', async () => {
    const { certificate } = await stored();
    const others = Array.from({ length: 4 }, pair);
    const bodies = await Promise.all(
      others.map(async ({ publicPem, privatePem }) => ({ pem: (await issue(publicPem, 60)) + privatePem })),
    );
    const answers = await Promise.all(bodies.map(body => service.call('PUT', of(certificate), body)));
    for (const { status, text } of answers) assert.equal(status, 200, [text, ...service.reports].join('\n'));
    const now = await ok('GET', of(certificate));
    assert.equal(now.version, 5);
    await bothRead(now);
  });

  if (engine === 'postgres')
    it('is served anew by another replica', async () => {
      const { own, certificate } = await stored();
      const replica = await service.replica();
      const served = () => read(`resource=${certificate.id}`, {}, replica.url);
      for (let reads = 0; reads < 3; reads++) assert.equal((await served()).status, 200);
      const second = await issue(own.publicPem, 90);
      await ok('PUT', of(certificate), { pem: second });
      await eventually('the replica serves it', async () => (await served()).text === second);
    });
});
