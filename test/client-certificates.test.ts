/** Machines that prove themselves by a client certificate, where the service itself ends TLS; and everybody else there. */
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  type Extension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { type Service, startService } from './harness.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const day = 86_400_000;
const clientUse = '1.3.6.1.5.5.7.3.2';
const serverUse = '1.3.6.1.5.5.7.3.1';

interface Issued {
  readonly certificate: X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
  readonly cert: string;
  readonly key: string;
}

interface Wanted {
  readonly subject?: string;
  readonly from?: number;
  readonly until?: number;
  readonly extensions?: Extension[];
}

/** Signed by itself where no issuer is given. */
async function issue(wanted: Wanted, issuer?: Issued): Promise<Issued> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const subject = wanted.subject ?? 'O=Acme,CN=build-1';
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: String(Math.floor(Math.random() * 1e9)),
      subject,
      issuer: issuer?.certificate.subject ?? subject,
      notBefore: new Date(Date.now() + (wanted.from ?? -1) * day),
      notAfter: new Date(Date.now() + (wanted.until ?? 1) * day),
      publicKey: keys.publicKey,
      signingKey: (issuer?.keys ?? keys).privateKey,
      signingAlgorithm: algorithm,
      extensions: wanted.extensions ?? [new ExtendedKeyUsageExtension([clientUse])],
    },
    webcrypto as unknown as Crypto,
  );
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return {
    certificate,
    keys,
    cert: certificate.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`,
  };
}

const authority = (subject: string) =>
  issue({ subject, extensions: [new BasicConstraintsExtension(true, 1, true)] });

describe('a client certificate', () => {
  let service: Service;
  let vaultId: string;
  let own: Issued;
  let stranger: Issued;

  before(async () => {
    [own, stranger] = await Promise.all([authority('CN=Acme machines'), authority('CN=Acme machines')]);
    service = await startService({ flags: ['--tls', 'auto', '--client-certificates'] });
    vaultId = (await call('POST', '/v1/vaults', { name: 'production' })).body.id;
  });
  after(() => service?.stop());

  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  function call(method: string, path: string, body?: object, client?: Issued | null): Promise<any> {
    const ca = readFileSync(join(service.data, 'tls', 'authority.pem'), 'utf8');
    const shown = client ? { cert: client.cert, key: client.key } : {};
    return new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        ...(client === undefined ? { authorization: `Bearer ${service.key}` } : {}),
      };
      const sent = request(service.url + path, { method, ca, headers, agent: false, ...shown }, answer => {
        const pieces: Buffer[] = [];
        answer.on('data', piece => pieces.push(piece));
        answer.on('end', () =>
          resolve({ status: answer.statusCode, body: JSON.parse(Buffer.concat(pieces).toString()) }),
        );
      });
      sent.on('error', reject);
      sent.end(body && JSON.stringify(body));
    });
  }

  async function identity(name: string, more: object = {}): Promise<string> {
    const whole = { name, method: 'certificate', ca_pem: own.cert, subjects: ['CN=build-*'] };
    const { status, body } = await call('POST', '/v1/identities', {
      ...whole,
      vault_ids: [vaultId],
      ...more,
    });
    assert.equal(status, 200, JSON.stringify(body));
    return body.id;
  }
  const logIn = (identity_id: string, client: Issued | null) =>
    call('POST', '/api/v1/login', { identity_id }, client);

  it('of the identity’s authority logs in, by its subject or by an alternative name', async () => {
    const bySubject = await identity('by subject');
    const { status, body } = await logIn(bySubject, await issue({}, own));
    assert.equal(status, 200, JSON.stringify(body));
    assert.match(body.token, /^sr_vault_/);
    const byName = await identity('by name', { subjects: ['dns:build.example.com', 'uri:spiffe://acme/*'] });
    const names = new SubjectAlternativeNameExtension([{ type: 'url', value: 'spiffe://acme/build' }]);
    const named = await issue({ subject: 'CN=x', extensions: [names] }, own);
    assert.equal((await logIn(byName, named)).status, 200);
    assert.equal((await logIn(byName, await issue({}, own))).status, 401);
  });

  it('of anybody else, out of time, for servers or of another subject gets the one refusal', async () => {
    const id = await identity('wrong');
    const server = [new ExtendedKeyUsageExtension([serverUse])];
    const isAuthority = [new BasicConstraintsExtension(true, 0, true)];
    const wrong: Record<string, Issued | null> = {
      none: null,
      'of an authority of the same name': await issue({}, stranger),
      'of itself': await issue({}),
      'expired yesterday': await issue({ from: -3, until: -1 }, own),
      'valid tomorrow': await issue({ from: 1, until: 3 }, own),
      'for servers': await issue({ extensions: server }, own),
      'an authority': await issue({ extensions: isAuthority }, own),
      'of another subject': await issue({ subject: 'O=Acme,CN=web-1' }, own),
      'with the subject in another place': await issue({ subject: 'O=CN\\=build-1' }, own),
      'of one that it issued': await issue({}, await issue({}, own)),
    };
    for (const [what, client] of Object.entries(wrong)) {
      const { status, body } = await logIn(id, client);
      assert.deepEqual([status, body], [401, { message: 'Unauthorized' }], what);
    }
    assert.equal((await logIn(id, await issue({}, own))).status, 200);
  });

  it('is asked of nobody else, and opens nothing by itself', async () => {
    const id = await identity('reader');
    const client = await issue({}, own);
    assert.equal((await call('GET', '/v1/vaults', undefined, client)).status, 401);
    const { body } = await logIn(id, client);
    const ca = readFileSync(join(service.data, 'tls', 'authority.pem'), 'utf8');
    const status = await new Promise(resolve =>
      request(
        `${service.url}/api/v1/vaults/self`,
        { ca, agent: false, headers: { authorization: `Bearer ${body.token}` } },
        answer => resolve(answer.resume().statusCode),
      ).end(),
    );
    assert.equal(status, 200, 'the access key needs no certificate');
  });

  it('can’t be asked for where the service does not end TLS', async () => {
    const config = readConfig(serveOptions, ['--data', service.data, '--client-certificates'], {});
    await assert.rejects(serve(config, { report: () => {} }), /--client-certificates requires --tls/);
  });
});
