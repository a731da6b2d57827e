/** Certificate authorities of a vault: what they issue, for whom, and what they refuse. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connect, createServer } from 'node:tls';
import * as x509 from '@peculiar/x509';
import { readBroughtBack } from '../src/material/authority-certificate.ts';
import { authorityBody, dns, elsewhere, profileBody, requestFor } from './authorities-world.ts';
import { enginesInTurn, type Service, startService } from './harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of answers are judged by what is read from them
type Json = any;
const day = 86_400_000;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`authorities, on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let root: Json;
    let profile: Json;

    const call = (method: string, path: string, body?: object, key?: string) =>
      service.call(method, path, body, key);
    const made = async (path: string, body: object | undefined): Promise<Json> => {
      const answer = await call('POST', path, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const issue = (body: object, id: string = profile.id, key?: string) =>
      call('POST', `/v1/profiles/${id}/issue`, body, key);
    const issued = (body: object, id?: string) => made(`/v1/profiles/${id ?? profile.id}/issue`, body);
    const key = async (body: object) => (await made('/v1/api-keys', { name: `k${++keys}`, ...body })).token;
    let keys = 0;

    before(async () => {
      service = await startService({ engine });
      vaultId = (await made('/v1/vaults', { name: 'pki' })).id;
      root = await made('/v1/authorities', authorityBody(vaultId, 'root'));
      profile = await made('/v1/profiles', profileBody(root.id, 'services'));
    });
    after(() => service.stop());

    it('shows an authority with its certificate, and its private key nowhere', async () => {
      assert.deepEqual([root.state, root.kind, root.key_type, root.key_size], ['active', 'root', 'EC', 256]);
      const certificate = new X509Certificate(root.certificate);
      assert.ok(certificate.ca && certificate.verify(certificate.publicKey));
      assert.equal(certificate.fingerprint256.replaceAll(':', '').toLowerCase(), root.fingerprint);
      const { text } = await call('GET', `/v1/authorities/${root.id}`);
      assert.ok(!/PRIVATE/.test(text));
      const { body } = await call('GET', `/v1/keys?vault_id=${vaultId}`);
      assert.equal(body.pagination.total, 0, 'its key is no key of the vault');
    });

    it('issues for names with a key that is shown once, and clients accept it', async () => {
      const one = await issued({ names: ['API.internal.example', '10.1.2.3'] });
      assert.deepEqual(one.names, ['api.internal.example', '10.1.2.3']);
      const certificate = new X509Certificate(one.certificate);
      assert.equal(certificate.subjectAltName, 'DNS:api.internal.example, IP Address:10.1.2.3');
      assert.ok(certificate.checkPrivateKey(createPrivateKey(one.private_key)));
      assert.ok(certificate.verify(new X509Certificate(root.certificate).publicKey));
      assert.equal(certificate.serialNumber.toLowerCase(), one.serial);
      assert.equal(one.serial.length, 32);
      const life = certificate.validToDate.getTime() - service.clock.now();
      assert.ok(life > 30 * day - 2_000 && life <= 30 * day);
      assert.ok(certificate.validFromDate.getTime() <= service.clock.now(), 'clocks differ');
      await handshake(one, root.certificate, 'api.internal.example');
      const shown = await call('GET', `/v1/issued-certificates/${one.id}`);
      assert.equal(shown.body.certificate, one.certificate);
      assert.ok(!shown.text.includes('PRIVATE'));
    });

    it('issues for a signing request, with its key and its names', async () => {
      const csr = await requestFor({
        names: dns('web.internal.example'),
        subject: 'CN=web.internal.example',
      });
      const one = await issued({ csr, days: 3 });
      assert.equal(one.private_key, undefined);
      const certificate = new X509Certificate(one.certificate);
      const asked = new x509.Pkcs10CertificateRequest(csr);
      const spki = certificate.publicKey.export({ format: 'der', type: 'spki' });
      assert.deepEqual(spki, Buffer.from(asked.publicKey.rawData));
      assert.ok(certificate.validToDate.getTime() - service.clock.now() <= 3 * day);
    });

    it('refuses names and lives that the profile doesn’t allow', async () => {
      for (const name of ['example.org', 'internal.example', '*.internal.example', '192.168.0.1', '::1'])
        assert.equal((await issue({ names: [name] })).body.error?.details.field, 'names', name);
      for (const name of [
        'a b',
        'a_b.internal.example',
        'x.internal.example.',
        '1.2.3',
        'ex\u00e4mple.internal.example',
      ])
        assert.equal((await issue({ names: [name] })).status, 400, name);
      for (const body of [
        {},
        { names: [] },
        { names: ['a.internal.example'], days: 91 },
        { names: ['a.internal.example'], csr: 'x' },
        { csr: 'x' },
        { csr: root.certificate },
      ])
        assert.equal((await issue(body)).status, 400, JSON.stringify(body));
      assert.equal((await call('PUT', `/v1/profiles/${profile.id}`, { max_days: 91 })).status, 400);
      const long = await issued({ names: ['a.internal.example'], days: 90 });
      const { expires_at } = long;
      assert.ok(Date.parse(expires_at) - service.clock.now() <= 30 * day, 'the profile’s own limit applies');
    });

    it('puts an intermediate under a root, whose constraints hold for everything below it', async () => {
      const body = {
        ...authorityBody(vaultId, 'team'),
        subject: 'CN=Team',
        kind: 'intermediate',
        parent_id: root.id,
        permitted_names: ['team.example', '10.9.0.0/16'],
      };
      const { permitted_names, ...open } = body;
      assert.equal((await call('POST', '/v1/authorities', open)).body.error.details.field, 'permitted_names');
      const team = await made('/v1/authorities', body);
      assert.deepEqual(team.permitted_names, ['team.example', '10.9.0.0/16']);
      const wide = profileBody(team.id, 'wide');
      assert.equal((await call('POST', '/v1/profiles', wide)).body.error.details.field, 'allowed_names');
      const allowed_names = ['**.team.example', 'team.example', '10.9.0.0/16'];
      const { id } = await made('/v1/profiles', { ...wide, name: 'team', allowed_names });
      const one = await issued({ names: ['a.b.team.example', '10.9.1.1'] }, id);
      assert.equal(one.chain, team.certificate + root.certificate);
      await handshake(one, root.certificate, 'a.b.team.example');
      const chain = await call('GET', `/v1/authorities/${team.id}/chain`);
      assert.equal(chain.text, one.chain);
      const below = { ...body, name: 'below', parent_id: team.id };
      assert.equal((await call('POST', '/v1/authorities', below)).body.error.details.field, 'parent_id');
      assert.equal((await call('DELETE', `/v1/authorities/${root.id}`)).status, 400, 'it is still needed');
    });

    it('gives out a request to be signed elsewhere, and issues once the certificate is brought back', async () => {
      const body = { ...authorityBody(vaultId, 'elsewhere'), subject: 'CN=Ours', kind: 'intermediate' };
      const waiting = await made('/v1/authorities', body);
      assert.deepEqual([waiting.state, waiting.certificate], ['waiting', null]);
      const { id } = await made('/v1/profiles', profileBody(waiting.id, 'by elsewhere'));
      assert.equal((await issue({ names: ['a.internal.example'] }, id)).body.error.code, 'CONFLICT');
      const there = await elsewhere();
      const bring = (certificate: string) => call('PUT', `/v1/authorities/${waiting.id}`, { certificate });
      const another = await made('/v1/authorities', { ...body, name: 'another' });
      const signed = await there.sign(waiting.request);
      for (const wrong of [
        'x',
        root.certificate,
        await there.sign(another.request),
        await there.sign(waiting.request, false),
        signed.slice(0, signed.length - there.rootPem.length),
        signed + root.certificate,
      ])
        assert.equal((await bring(wrong)).body.error?.details.field, 'certificate');
      const active = await bring(signed);
      assert.equal(active.body.state, 'active', active.text);
      const one = await issued({ names: ['a.internal.example'] }, id);
      await handshake(one, there.rootPem, 'a.internal.example');
    });

    it('reads at most ten certificates and 256 KiB of what is brought back', () => {
      const brought = (pem: string) => () => readBroughtBack(pem, root.certificate, service.clock.now());
      assert.throws(brought(root.certificate.repeat(11)), { reason: 'contains more than 10 PEM blocks' });
      assert.throws(brought('x'.repeat(262_145)), { reason: 'is larger than 262144 bytes' });
    });

    it('lists revoked certificates, as DER or PEM, with a number that grows', async () => {
      const one = await issued({ names: ['gone.internal.example'] });
      const list = async () => {
        const answer = await fetch(`${service.url}/v1/authorities/${root.id}/crl`, {
          headers: { authorization: `Bearer ${service.key}` },
        });
        assert.equal(answer.headers.get('content-type'), 'application/pkix-crl');
        return new x509.X509Crl(await answer.arrayBuffer());
      };
      const earlier = await list();
      assert.equal(earlier.findRevoked(one.serial), null);
      assert.deepEqual((await list()).rawData, earlier.rawData, 'it is signed once');
      const revoke = () =>
        call('POST', `/v1/issued-certificates/${one.id}/revoke`, { reason: 'key_compromise' });
      const { body } = await revoke();
      assert.deepEqual([body.state, body.revocation_reason], ['revoked', 'key_compromise']);
      const again = await call('POST', `/v1/issued-certificates/${one.id}/revoke`, { reason: 'superseded' });
      assert.deepEqual(again.body, body, 'nothing changes');
      const later = await list();
      assert.equal(later.findRevoked(one.serial)?.reason, x509.X509CrlReason.keyCompromise);
      const { publicKey } = new x509.X509Certificate(root.certificate);
      assert.ok(await later.verify({ publicKey }));
      const pem = await fetch(`${service.url}/v1/authorities/${root.id}/crl`, {
        headers: { authorization: `Bearer ${service.key}`, accept: 'application/x-pem-file' },
      });
      assert.match(await pem.text(), /^-----BEGIN X509 CRL-----/);
      const listed = await call('GET', '/v1/issued-certificates?state=revoked');
      assert.deepEqual(
        listed.body.data.map(({ id }: Json) => id),
        [one.id],
      );
    });

    it('records who got what, and who revoked it', async () => {
      const one = await issued({ names: ['logged.internal.example'] });
      await made(`/v1/issued-certificates/${one.id}/revoke`, undefined);
      const { body } = await call('GET', '/v1/audit-logs?limit=20');
      const of = body.data.filter(({ subject }: Json) => subject?.id === one.id);
      assert.deepEqual(
        of.map(({ action, subject }: Json) => [action, subject.name]),
        [
          ['issued-certificate.revoked', 'logged.internal.example'],
          ['issued-certificate.created', 'logged.internal.example'],
        ],
      );
    });

    it('issues to those who may use keys; others may revoke, or look', async () => {
      const body = { names: ['mine.internal.example'] };
      const admin = await key({ role: 'admin' });
      const one = await issued(body);
      assert.equal((await issue(body, profile.id, admin)).status, 403, 'managing is not using');
      const revoked = await call('POST', `/v1/issued-certificates/${one.id}/revoke`, {}, admin);
      assert.equal(revoked.status, 200, revoked.text);
      const viewer = await key({ role: 'viewer' });
      assert.equal((await call('GET', `/v1/authorities/${root.id}/crl`, undefined, viewer)).status, 200);
      assert.equal((await call('POST', '/v1/profiles', profileBody(root.id, 'no'), viewer)).status, 403);
      const elsewhereId = (await made('/v1/vaults', { name: `other ${++keys}` })).id;
      const narrow = await key({ role: 'editor', vault_ids: [elsewhereId] });
      assert.equal((await issue(body, profile.id, narrow)).status, 404);
      assert.equal((await call('GET', `/v1/authorities/${root.id}/chain`, undefined, narrow)).status, 404);
    });

    it('issues nothing that outlives the API key that requested it', async () => {
      const expiration_date = new Date(service.clock.now() + 2 * day).toISOString();
      const short = await key({ role: 'editor', expiration_date });
      const { body } = await issue({ names: ['short.internal.example'] }, profile.id, short);
      assert.ok(Date.parse(body.expires_at) <= Date.parse(expiration_date));
    });

    it('lets only an owner set up authorities in a vault with review', async () => {
      const { id } = await made('/v1/vaults', { name: 'reviewed', review: true });
      const editor = await key({ role: 'editor' });
      const refused = await call('POST', '/v1/authorities', authorityBody(id, 'ca'), editor);
      assert.match(refused.body.error.message, /In a vault with review/);
      assert.equal((await call('POST', '/v1/authorities', authorityBody(id, 'ca'))).status, 200);
    });

    it('is deleted with its vault, and not before its certificates have expired', async () => {
      const { id } = await made('/v1/vaults', { name: 'ends' });
      const ca = await made('/v1/authorities', authorityBody(id, 'ca'));
      const { id: by } = await made('/v1/profiles', profileBody(ca.id, 'p'));
      await issued({ names: ['a.internal.example'] }, by);
      assert.equal((await call('DELETE', `/v1/profiles/${by}`)).status, 200);
      assert.equal((await call('DELETE', `/v1/authorities/${ca.id}`)).body.error.code, 'CONFLICT');
      assert.equal((await call('DELETE', `/v1/vaults/${id}`)).status, 200);
      assert.equal((await issue({ names: ['a.internal.example'] }, by)).status, 404);
      assert.equal((await call('DELETE', `/v1/vaults/${id}?purge=true`)).status, 200);
      assert.equal((await call('GET', `/v1/authorities/${ca.id}`)).status, 404);
    });
  });
}

/** A server with the certificate, and a client that trusts the root alone. */
async function handshake(one: Json, root: string, servername: string): Promise<void> {
  const key = one.private_key;
  const server = createServer({ cert: one.certificate + one.chain, key }, socket => socket.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect({ host: '127.0.0.1', port, servername, ca: root });
  await once(client, 'secureConnect');
  assert.ok(client.authorized);
  client.destroy();
  server.close();
}
