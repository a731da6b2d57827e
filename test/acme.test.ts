/** The ACME server: what clients get, each refusal with its type, and that it all ends with the access key. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type AcmeAnswer, AcmeClient } from './acme-client.ts';
import { authorityBody, dns, profileBody, requestFor } from './authorities-world.ts';
import { enginesInTurn, type Service, startService } from './harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of answers are judged by what is read from them
type Json = any;
const day = 86_400_000;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`ACME, on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    let root: Json;
    let profile: Json;
    let binding: Json;
    let client: AcmeClient;
    let made = 0;

    const ok = async (path: string, body: object | undefined): Promise<Json> => {
      const answer = await service.call('POST', path, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const accessKey = (more: object = {}) =>
      ok('/v1/access-keys', { vault_id: vaultId, name: `c${++made}`, ...more });
    const bound = async (more: object = {}, id: string = profile.id) =>
      ok(`/v1/profiles/${id}/acme-binding`, { access_key_id: (await accessKey(more)).id });
    const registered = async (given?: Json, id: string = profile.id) => {
      const one = await AcmeClient.at(service.url, id);
      const answer = await one.register(given ?? (await bound({}, id)));
      assert.equal(answer.status, 201, answer.text);
      return one;
    };
    const problem = (answer: AcmeAnswer, type: string, status?: number) => {
      assert.equal(answer.body?.type, `urn:ietf:params:acme:error:${type}`, answer.text);
      assert.equal(answer.headers.get('content-type'), 'application/problem+json');
      assert.equal(answer.body.status, answer.status);
      if (status !== undefined) assert.equal(answer.status, status);
      assert.ok(answer.headers.get('replay-nonce'), 'every answer has a nonce');
    };
    const certIdOf = (pem: string) => {
      const { serialNumber } = new X509Certificate(pem);
      const hex = /^[89A-F]/.test(serialNumber) ? `00${serialNumber}` : serialNumber;
      return new X509Certificate(pem).raw.length > 0 ? hex : '';
    };

    before(async () => {
      service = await startService({ engine });
      vaultId = (await ok('/v1/vaults', { name: 'pki' })).id;
      root = await ok('/v1/authorities', authorityBody(vaultId, 'root'));
      const team = await ok('/v1/authorities', {
        ...authorityBody(vaultId, 'team'),
        kind: 'intermediate',
        parent_id: root.id,
        subject: 'CN=Team',
        permitted_names: ['internal.example', '10.0.0.0/8'],
      });
      profile = await ok('/v1/profiles', { ...profileBody(team.id, 'services'), acme: { enabled: true } });
      binding = await bound();
      client = await registered(binding);
    });
    after(() => service.stop());

    it('has a directory where it is switched on, and nothing anywhere else', async () => {
      const answer = await fetch(`${service.url}/acme/${profile.id}/directory`);
      const body: Json = await answer.json();
      assert.equal(body.meta.externalAccountRequired, true);
      assert.deepEqual(body, client.directory);
      assert.match(answer.headers.get('link')!, /directory>;rel="index"/);
      const off = await ok('/v1/profiles', profileBody(root.id, 'off'));
      for (const id of [off.id, vaultId, 'x', '0199a3c4-7f00-7abc-8def-0123456789ab'])
        assert.equal((await fetch(`${service.url}/acme/${id}/directory`)).status, 404, id);
      assert.equal((await fetch(client.directory.newNonce)).status, 204);
      assert.equal((await fetch(client.directory.newNonce, { method: 'HEAD' })).status, 200);
    });

    it('gives a certificate for names of the profile, with those above it up to the root', async () => {
      const order = await client.order(['a.internal.example', '10.0.0.7']);
      assert.deepEqual([order.status, order.body.status], [201, 'ready'], order.text);
      for (const url of order.body.authorizations) {
        const { body } = await client.post(url, null);
        assert.equal(body.status, 'valid');
      }
      const done = await client.finalize(order);
      assert.equal(done.body.status, 'valid', done.text);
      const answer = await client.post(done.body.certificate, null);
      assert.equal(answer.headers.get('content-type'), 'application/pem-certificate-chain');
      const [leaf, above, ...more] = answer.text
        .split(/(?<=-----END CERTIFICATE-----\n)/)
        .map(pem => new X509Certificate(pem));
      assert.equal(leaf!.subjectAltName, 'DNS:a.internal.example, IP Address:10.0.0.7');
      assert.ok(
        leaf!.verify(above!.publicKey) && above!.verify(new X509Certificate(root.certificate).publicKey),
      );
      assert.equal(more.length, 0, 'clients have the root');
      const again = await client.post(order.headers.get('location')!, null);
      assert.equal(again.body.certificate, done.body.certificate);
      const { body } = await service.call('GET', `/v1/issued-certificates?requested_by=${binding.kid}`);
      assert.deepEqual(body.data[0].requested_by, { kind: 'access-key', id: binding.kid });
    });

    it('binds accounts to an access key, once for each key of a client', async () => {
      const one = await AcmeClient.at(service.url, profile.id);
      const create = (externalAccountBinding?: Json, more: object = {}) =>
        one.post(one.directory.newAccount, { externalAccountBinding, ...more });
      problem(await create(), 'externalAccountRequired', 403);
      problem(await create(undefined, { onlyReturnExisting: true }), 'accountDoesNotExist', 400);
      const other = { ...binding, kid: (await accessKey()).id };
      problem(await create(one.binding(other)), 'unauthorized', 403);
      problem(await create(one.binding(binding, { url: one.directory.newOrder })), 'malformed');
      problem(await create(one.binding(binding, { alg: 'ES256' })), 'badSignatureAlgorithm');
      problem(await create(one.binding(binding, {}, client.jwk)), 'malformed');
      problem(await create({}), 'malformed');
      const [first, second] = [
        await one.register(binding),
        await create(undefined, { onlyReturnExisting: true }),
      ];
      assert.deepEqual([first.status, first.body.status], [201, 'valid']);
      problem(second, 'malformed'); // By now it has an account, whose address it must use.
      const elsewhere = await bound();
      const foreign = await service.call('POST', `/v1/profiles/${profile.id}/acme-binding`, {
        access_key_id: vaultId,
      });
      assert.equal(foreign.status, 404);
      assert.notEqual(elsewhere.hmac_key, binding.hmac_key);
    });

    it('refuses what is not signed as it should be', async () => {
      const { newOrder, newAccount } = client.directory;
      const identifiers = [{ type: 'dns', value: 'a.internal.example' }];
      const send = (forged: object, url = newOrder) => client.post(url, { identifiers }, forged);
      problem(await send({ header: { nonce: 'x' } }), 'badNonce', 400);
      const nonce = await client.nonce();
      assert.equal((await send({ header: { nonce } })).status, 201);
      problem(await send({ header: { nonce } }), 'badNonce');
      const old = await client.nonce();
      service.clock.pass(5 * 60_000);
      problem(await send({ header: { nonce: old } }), 'badNonce');
      problem(await send({ header: { url: newAccount } }), 'unauthorized', 403);
      problem(await send({ header: { kid: `${client.kid}x` } }), 'accountDoesNotExist');
      problem(await send({ header: { jwk: client.jwk } }), 'malformed');
      problem(await send({ header: { kid: undefined } }), 'malformed');
      problem(await send({ header: { alg: 'none' } }), 'badSignatureAlgorithm');
      problem(await send({ header: { alg: 'HS256' } }), 'badSignatureAlgorithm');
      problem(await send({ header: { crit: ['b64'] } }), 'malformed');
      const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      problem(await send({ key: other.privateKey }), 'malformed');
      problem(await send({ body: (sent: Json) => ({ ...sent, header: {} }) }), 'malformed');
      problem(await send({ body: () => [] }), 'malformed');
      problem(await send({ body: (sent: Json) => ({ ...sent, payload: '%' }) }), 'malformed');
      problem(await send({ type: 'application/json' }), 'malformed');
      const stranger = await AcmeClient.at(service.url, profile.id);
      const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
      const curve = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({
        format: 'jwk',
      });
      for (const jwk of [
        weak,
        curve,
        {},
        { kty: 'oct', k: 'x' },
        client.pair.privateKey.export({ format: 'jwk' }),
      ])
        problem(await stranger.post(newAccount, {}, { header: { jwk } }), 'badPublicKey');
      problem(await stranger.post(newOrder, { identifiers }), 'malformed');
    });

    it('refuses payloads that are longer than they need to be', async () => {
      const { newAccount, newOrder, revokeCert } = client.directory;
      const long = 'x'.repeat(256);
      const contact = Array.from({ length: 11 }, () => 'mailto:ada@example.org');
      problem(await client.post(client.kid, { contact: [long] }), 'malformed');
      problem(await client.post(client.kid, { contact }), 'malformed');
      const identifiers = Array.from({ length: 101 }, (_, at) => ({
        type: 'dns',
        value: `a${at}.internal.example`,
      }));
      problem(await client.post(newOrder, { identifiers }), 'malformed');
      problem(await client.post(revokeCert, { certificate: 'A'.repeat(90_001) }), 'malformed');
      problem(await client.post(newAccount, { contact: ['x'.repeat(128 * 1024)] }), 'malformed', 400);
    });

    it('refuses orders for other names, and says which rule it was', async () => {
      problem(await client.order(['example.org']), 'rejectedIdentifier', 400);
      problem(await client.order(['a b']), 'rejectedIdentifier');
      problem(await client.order(['192.168.0.1']), 'rejectedIdentifier');
      problem(await client.order(['a.internal.example'], { notAfter: '2027-01-01T00:00:00Z' }), 'malformed');
      const { newOrder } = client.directory;
      problem(
        await client.post(newOrder, { identifiers: [{ type: 'email', value: 'a' }] }),
        'unsupportedIdentifier',
      );
      problem(await client.post(newOrder, { identifiers: [] }), 'malformed');
      problem(await client.post(newOrder, null), 'malformed');
      const { body } = await service.call('GET', '/v1/audit-logs?limit=50');
      const reasons = body.data
        .filter(({ action }: Json) => action === 'acme.refused')
        .map(({ details }: Json) => details.reason);
      assert.ok(
        reasons.includes('rejectedIdentifier: names has a name that the profile doesn’t allow'),
        reasons.join(),
      );
    });

    it('refuses requests that don’t match the order, and finishes an order once', async () => {
      const order = await client.order(['b.internal.example']);
      problem(
        await client.finalize(order, await requestFor({ names: dns('c.internal.example') })),
        'badCSR',
        400,
      );
      problem(
        await client.finalize(
          order,
          await requestFor({ names: dns('b.internal.example', 'c.internal.example') }),
        ),
        'badCSR',
      );
      problem(
        await client.finalize(
          order,
          await requestFor({ names: dns('b.internal.example'), pair: client.pair }),
        ),
        'badCSR',
      );
      problem(await client.finalize(order, await requestFor({})), 'badCSR');
      problem(await client.post(order.body.finalize, { csr: '%' }), 'badCSR');
      problem(await client.post(order.body.finalize, {}), 'malformed');
      assert.equal((await client.finalize(order)).status, 200);
      problem(await client.finalize(order), 'orderNotReady', 403);
      const late = await client.order(['b.internal.example']);
      service.clock.pass(7 * day);
      problem(await client.finalize(late), 'orderNotReady');
      const both = await client.order(['d.internal.example']);
      const done = await Promise.all([client.finalize(both), client.finalize(both)]);
      assert.deepEqual(done.map(({ status }) => status).sort(), [200, 403]);
    });

    it('shows an account nothing of another one', async () => {
      const order = await client.order(['e.internal.example']);
      const other = await registered();
      for (const url of [order.headers.get('location')!, order.body.authorizations[0], order.body.finalize])
        assert.equal((await other.post(url, url.endsWith('finalize') ? { csr: 'x' } : null)).status, 404);
      problem(await other.post(client.kid, null), 'unauthorized');
    });

    it('tells clients when to renew, at once if a certificate was revoked, and lets each be replaced once', async () => {
      const pem = await client.obtain(['f.internal.example']);
      const leaf = new X509Certificate(pem);
      const { body: found } = await service.call('GET', '/v1/issued-certificates?q=f.internal');
      const authority = (await service.call('GET', `/v1/authorities/${profile.authority_id}`)).body;
      const { keyIdentifier } = await import('../src/domain/authorities/authority-records.ts');
      const parts = [keyIdentifier(authority.certificate), certIdOf(pem)];
      const certId = parts.map(hex => Buffer.from(hex, 'hex').toString('base64url')).join('.');
      const ask = async (named = certId) => fetch(`${client.directory.renewalInfo}/${named}`);
      const answer = await ask();
      assert.equal(answer.headers.get('retry-after'), '21600');
      const { suggestedWindow }: Json = await answer.json();
      const [start, end] = [Date.parse(suggestedWindow.start), Date.parse(suggestedWindow.end)];
      assert.ok(start > service.clock.now() + 15 * day && start < end && end < leaf.validToDate.getTime());
      for (const wrong of [
        'x',
        `${certId}.x`,
        `AAAA.${certId.split('.')[1]}`,
        `${certId.split('.')[0]}.AAAA`,
      ])
        assert.equal((await ask(wrong)).status, 404, wrong);
      await ok(`/v1/issued-certificates/${found.data[0].id}/revoke`, undefined);
      const revoked: Json = await (await ask()).json();
      assert.ok(Date.parse(revoked.suggestedWindow.end) < service.clock.now());
      const other = await registered();
      problem(await other.order(['f.internal.example'], { replaces: certId }), 'malformed');
      problem(await client.order(['g.internal.example'], { replaces: certId }), 'malformed');
      const order = await client.order(['f.internal.example'], { replaces: certId });
      assert.equal(order.body.replaces, certId, order.text);
      assert.equal((await client.finalize(order)).status, 200);
      problem(await client.order(['f.internal.example'], { replaces: certId }), 'alreadyReplaced', 409);
    });

    it('revokes for the account that ordered, or for the key of the certificate', async () => {
      const derOf = (pem: string) => new X509Certificate(pem).raw.toString('base64url');
      const certificate = derOf(await client.obtain(['h.internal.example']));
      const { revokeCert } = client.directory;
      const other = await registered();
      problem(await other.post(revokeCert, { certificate }), 'unauthorized');
      problem(await client.post(revokeCert, { certificate, reason: 6 }), 'badRevocationReason');
      problem(await client.post(revokeCert, { certificate: derOf(root.certificate) }), 'malformed');
      problem(await client.post(revokeCert, { certificate: 'x' }), 'malformed');
      assert.equal((await client.post(revokeCert, { certificate, reason: 1 })).status, 200);
      problem(await client.post(revokeCert, { certificate }), 'alreadyRevoked');
      const own = await AcmeClient.at(service.url, profile.id);
      const order = await client.order(['i.internal.example']);
      const done = await client.finalize(
        order,
        await requestFor({ names: dns('i.internal.example'), pair: own.pair }),
      );
      const { text } = await client.post(done.body.certificate, null);
      assert.equal((await own.post(revokeCert, { certificate: derOf(text) })).status, 200);
    });

    it('changes the key of an account, and deactivates it', async () => {
      const one = await registered();
      const { keyChange } = one.directory;
      const next = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const inner = (more: object = {}, header: object = {}) =>
        one.signed(
          { jwk: next.publicKey.export({ format: 'jwk' }), url: keyChange, ...header },
          { account: one.kid, oldKey: one.jwk, ...more },
          next.privateKey,
        );
      problem(await one.post(keyChange, inner({ account: client.kid })), 'malformed');
      problem(await one.post(keyChange, inner({ oldKey: client.jwk })), 'malformed');
      problem(await one.post(keyChange, inner({}, { url: one.kid })), 'malformed');
      problem(await one.post(keyChange, { ...inner(), signature: 'AAAA' }), 'malformed');
      const taken = await registered();
      const theirs = taken.signed({ jwk: taken.jwk, url: keyChange }, { account: one.kid, oldKey: one.jwk });
      problem(await one.post(keyChange, theirs), 'malformed', 409);
      assert.equal((await one.post(keyChange, inner())).status, 200);
      problem(await one.post(one.kid, null), 'malformed');
      one.pair = next;
      assert.equal((await one.post(one.kid, { contact: ['mailto:ada@example.org'] })).body.contact.length, 1);
      assert.equal((await one.post(one.kid, { status: 'deactivated' })).body.status, 'deactivated');
      problem(await one.order(['a.internal.example']), 'unauthorized');
    });

    it('gives nothing once the access key is revoked, restricted or expired', async () => {
      const withKey = async (more: object = {}) => {
        const { id } = await accessKey(more);
        const given = await ok(`/v1/profiles/${profile.id}/acme-binding`, { access_key_id: id });
        return { id, given, one: await registered(given) };
      };
      const revoked = await withKey();
      const order = await revoked.one.order(['j.internal.example']);
      assert.equal((await service.call('DELETE', `/v1/access-keys/${revoked.id}`)).status, 200);
      problem(await revoked.one.finalize(order), 'unauthorized', 403);
      problem(await revoked.one.order(['j.internal.example']), 'unauthorized');
      const late = await AcmeClient.at(service.url, profile.id);
      problem(await late.register(revoked.given), 'unauthorized');
      const restricted = await withKey();
      await service.call('PUT', `/v1/access-keys/${restricted.id}`, { kinds: ['secret'] });
      problem(await restricted.one.order(['j.internal.example']), 'unauthorized');
      const until = service.clock.now() + 2 * day;
      const short = await withKey({ expiration_date: new Date(until).toISOString() });
      const pem = await short.one.obtain(['j.internal.example']);
      assert.ok(new X509Certificate(pem).validToDate.getTime() <= until, 'and nothing outlives it');
      service.clock.pass(2 * day);
      problem(await short.one.order(['j.internal.example']), 'unauthorized');
      for (const named of [{ names: ['other'] }, { names_only: true }]) {
        const narrow = await AcmeClient.at(service.url, profile.id);
        problem(await narrow.register(await bound(named)), 'unauthorized');
      }
    });

    it('refuses an address that guesses secrets, without checking more of them', async () => {
      const one = await AcmeClient.at(service.url, profile.id);
      const wrong = { ...binding, hmac_key: 'AAAA' };
      let last: AcmeAnswer | undefined;
      for (let at = 0; at < 80 && last?.status !== 429; at++) last = await one.register(wrong);
      problem(last!, 'rateLimited', 429);
      service.clock.pass(61_000);
    });
  });
}
