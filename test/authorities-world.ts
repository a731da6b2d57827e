/** What authorities and profiles are created from, and requests as OpenSSL would make them. */
import 'reflect-metadata';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import * as x509 from '@peculiar/x509';

export const authorityBody = (vault_id: string, name: string) => ({
  vault_id,
  name,
  subject: 'CN=Test Root,O=Test',
});

export const profileBody = (authority_id: string, name: string) => ({
  name,
  authority_id,
  allowed_names: ['**.internal.example', '10.0.0.0/8'],
});

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

export function ecPair(): { privateKey: KeyObject; publicKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

interface RequestParts {
  readonly names?: readonly x509.JsonGeneralName[];
  readonly subject?: string;
  readonly extensions?: readonly x509.Extension[];
  readonly pair?: { privateKey: KeyObject; publicKey: KeyObject };
}

/** A signing request for these names, as PEM. */
export async function requestFor({ names, subject = '', extensions = [], pair = ecPair() }: RequestParts) {
  const keys = {
    privateKey: pair.privateKey.toCryptoKey(ecdsa, true, ['sign']),
    publicKey: pair.publicKey.toCryptoKey(ecdsa, true, ['verify']),
  };
  const all = names === undefined ? [] : [new x509.SubjectAlternativeNameExtension([...names])];
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: subject,
    keys,
    signingAlgorithm: ecdsa,
    extensions: [...all, ...extensions],
  });
  return request.toString('pem');
}

export const dns = (...values: string[]) => values.map(value => ({ type: 'dns' as const, value }));

/** An authority elsewhere: its root, and what it makes of a request for an authority below it. */
export async function elsewhere(permitted?: Buffer) {
  const pair = ecPair();
  const keys = {
    privateKey: pair.privateKey.toCryptoKey(ecdsa, true, ['sign']),
    publicKey: pair.publicKey.toCryptoKey(ecdsa, true, ['verify']),
  };
  const notBefore = new Date(Date.now() - 86_400_000);
  const notAfter = new Date(Date.now() + 2_000 * 86_400_000);
  const usages = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign;
  const extensions = [new x509.BasicConstraintsExtension(true, 1, true), new x509.KeyUsagesExtension(usages)];
  const dates = { notBefore, notAfter, signingAlgorithm: ecdsa };
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    ...dates,
    name: 'CN=Elsewhere',
    keys,
    extensions,
  });
  const rootPem = `${root.toString('pem')}\n`;
  return {
    rootPem,
    async sign(request: string, isAuthority = true): Promise<string> {
      const asked = new x509.Pkcs10CertificateRequest(request);
      const signed = await x509.X509CertificateGenerator.create({
        ...dates,
        subject: asked.subject,
        issuer: 'CN=Elsewhere',
        publicKey: asked.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new x509.BasicConstraintsExtension(isAuthority, isAuthority ? 0 : undefined, true),
          ...(permitted === undefined ? [] : [new x509.Extension('2.5.29.30', true, permitted)]),
        ],
      });
      return `${signed.toString('pem')}\n${rootPem}`;
    },
  };
}
