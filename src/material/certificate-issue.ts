/**
 * Issues certificates: self-signed ones, signing requests, and server certificates from a local CA.
 *
 * Guarantees: names and dates are checked before they are signed; serial numbers are random unless given; the time
 * comes from the caller. The signature is SHA-256 with RSA, the curve's own hash with EC, or Ed25519.
 * Refuses: keys that can't sign a certificate that all clients support (X25519, secp256k1, ML-*), public keys where a
 * private one is needed, and a CA certificate that does not match its key.
 */
import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, type webcrypto } from 'node:crypto';
import type * as X509 from '@peculiar/x509';
import { invalid } from '../contract/errors.ts';
import { parseAlternativeNames, withKind } from './alternative-names.ts';
import { certificateFitsKey, factsOf, parseCertificate } from './certificate-facts.ts';
import { type NamePart, parseName } from './distinguished-name.ts';
import { importKey, type KeyMaterial } from './key-material.ts';
import { readPem } from './pem.ts';

export interface SigningRequest {
  readonly privatePem: string;
  /** `CN=…,O=…` */
  readonly subject: string;
  readonly sans: readonly string[];
}

interface SelfSignRequest extends SigningRequest {
  readonly notBefore: Date;
  readonly days: number;
  readonly isAuthority?: boolean;
  /** Hex; random if not given. */
  readonly serial?: string;
}

interface ServerCertificateRequest {
  readonly authorityPem: string;
  readonly authorityPrivatePem: string;
  /** The server's public key, SPKI. */
  readonly publicPem: string;
  /** Host names and addresses without a prefix: `localhost`, `127.0.0.1`, `::1`. */
  readonly names: readonly string[];
  readonly notBefore: Date;
  readonly days: number;
}

const maxDays = 36_500;
const dayMs = 86_400_000;

/** Loaded on first use: it takes a while, brings a global polyfill, and most servers never issue certificates. */
export async function library(): Promise<typeof X509> {
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

export type SigningAlgorithm = { name: string; hash?: string; namedCurve?: string };

const curveHashes: Readonly<Record<string, string>> = {
  'P-256': 'SHA-256',
  'P-384': 'SHA-384',
  'P-521': 'SHA-512',
};

export function signingAlgorithm({ keyType, curve }: KeyMaterial): SigningAlgorithm {
  if (keyType === 'RSA') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  if (curve === 'Ed25519') return { name: 'Ed25519' };
  const hash = keyType === 'EC' ? curveHashes[curve!] : undefined;
  if (!hash)
    throw invalid(
      'key_id',
      'names a key that cannot sign certificates: use RSA, EC P-256, P-384, P-521 or Ed25519',
    );
  return { name: 'ECDSA', hash, namedCurve: curve! };
}

export interface Signer {
  readonly material: KeyMaterial;
  readonly algorithm: SigningAlgorithm;
  readonly keys: webcrypto.CryptoKeyPair;
}

export async function signerOf(privatePem: string): Promise<Signer> {
  const material = await importKey(privatePem);
  if (material.holds !== 'private') throw invalid('key_id', 'names a key without a private key');
  const algorithm = signingAlgorithm(material);
  const privateKey = webKey(createPrivateKey(material.pem), algorithm, 'sign');
  return {
    material,
    algorithm,
    keys: { privateKey, publicKey: webKey(createPublicKey(material.publicPem), algorithm, 'verify') },
  };
}

export function webKey(
  key: KeyObject,
  algorithm: SigningAlgorithm,
  usage: 'sign' | 'verify',
): webcrypto.CryptoKey {
  // The private key is not exportable; the public key is written into the certificate.
  return key.toCryptoKey(algorithm, usage === 'verify', [usage]);
}

/** Refuses names that can't be signed, before a key is used. `within` is the prefix of their fields. */
export function checkNames(subject: string, sans: readonly string[], within = ''): void {
  parseName(subject, `${within}subject`);
  parseAlternativeNames(sans, `${within}sans`);
}

/** Creates a self-signed certificate, or a CA certificate that can issue others. */
export async function selfSign(request: SelfSignRequest): Promise<string> {
  const name = parseName(request.subject, 'subject');
  const names = parseAlternativeNames(request.sans, 'sans');
  const dates = validity(request.notBefore, request.days);
  const { material, algorithm, keys } = await signerOf(request.privatePem);
  const x509 = await library();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialOf(request.serial),
    name: jsonName(name),
    ...dates,
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      ...(request.isAuthority ? authorityExtensions(x509) : endExtensions(x509, material)),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ...alternativeNames(x509, names),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

/** A PKCS#10 request for another CA to sign. */
export async function signingRequest(request: SigningRequest): Promise<string> {
  const name = parseName(request.subject, 'subject');
  const names = parseAlternativeNames(request.sans, 'sans');
  const { algorithm, keys } = await signerOf(request.privatePem);
  const x509 = await library();
  const csr = await x509.Pkcs10CertificateRequestGenerator.create({
    name: jsonName(name),
    keys,
    signingAlgorithm: algorithm,
    extensions: alternativeNames(x509, names),
  });
  return `${csr.toString('pem')}\n`;
}

/** A server's certificate from a local CA. It never outlives the CA's certificate. */
export async function issueServerCertificate(request: ServerCertificateRequest): Promise<string> {
  const { issuer, expiresAt, authority } = await authorityOf(request);
  const names = parseAlternativeNames(request.names.map(withKind), 'names');
  const { notBefore, notAfter } = validity(request.notBefore, request.days);
  if (notBefore >= expiresAt) throw invalid('authority', 'has expired');
  const server = await importKey(request.publicPem);
  const publicKey = webKey(createPublicKey(server.publicPem), signingAlgorithm(server), 'verify');
  const x509 = await library();
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialOf(undefined),
    subject: commonName(request.names),
    issuer: new x509.Name(issuer),
    notBefore,
    notAfter: notAfter < expiresAt ? notAfter : expiresAt,
    publicKey,
    signingKey: authority.keys.privateKey,
    signingAlgorithm: authority.algorithm,
    extensions: [
      ...endExtensions(x509, server),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(authority.keys.publicKey),
      ...alternativeNames(x509, names),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

async function authorityOf({ authorityPem, authorityPrivatePem }: ServerCertificateRequest) {
  const limits = { field: 'authority', maxBytes: 64 * 1024, maxBlocks: 1, allowNotes: true };
  const parsed = parseCertificate(readPem(authorityPem, limits)[0]!.bytes, 'authority');
  const facts = factsOf(parsed, 'authority');
  const authority = await signerOf(authorityPrivatePem);
  if (!parsed.x509.ca) throw invalid('authority', 'is a certificate that can’t issue others');
  if (!certificateFitsKey(facts, authority.material.publicPem))
    throw invalid('authority', 'is a certificate for another key');
  // The issuer is copied byte for byte, because verifiers compare encodings.
  return { issuer: parsed.tbs[4]!.raw, expiresAt: facts.expiresAt, authority };
}

export function validity(start: Date, days: number): { notBefore: Date; notAfter: Date } {
  if (!Number.isInteger(days) || days < 1 || days > maxDays)
    throw invalid('days', `must be a whole number from 1 to ${maxDays}`);
  const from = Math.floor(start.getTime() / 1000) * 1000;
  const notAfter = new Date(from + days * dayMs);
  // X.509 years have four digits, and years before 1950 are not commonly supported.
  const isSane = start.getUTCFullYear() >= 1950 && notAfter.getUTCFullYear() <= 9999;
  if (!isSane) throw invalid('not_before', 'is not a date that a certificate can contain');
  return { notBefore: new Date(from), notAfter };
}

/**
 * Sixteen random bytes. In the first, the high bit is cleared and the next one set, so that the number is positive and
 * has full length.
 */
export function serialOf(given: string | undefined): string {
  if (given !== undefined) {
    if (!/^(?!0+$)[0-7][0-9a-f](?:[0-9a-f]{2}){0,19}$/i.test(given))
      throw invalid('serial', 'must be a positive number in hex, of at most 20 bytes');
    return given;
  }
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x7f) | 0x40;
  return bytes.toString('hex');
}

export function jsonName(parts: readonly NamePart[]): X509.JsonName {
  // The generators accept the same as `Name` (JsonNameParams), although their types name only the more restrictive
  // form.
  const name: X509.JsonNameParams = parts.map(({ type, value, encoding }) => ({
    [type]: [{ [encoding]: value }],
  }));
  return name as X509.JsonName;
}

/** The first name if it fits. Clients use the alternative names. */
function commonName([first = '']: readonly string[]): X509.JsonName {
  return jsonName([
    { type: '2.5.4.3', value: first.length <= 64 ? first : 'server', encoding: 'utf8String' },
  ]);
}

function authorityExtensions(x509: typeof X509): X509.Extension[] {
  const { keyCertSign, cRLSign, digitalSignature } = x509.KeyUsageFlags;
  return [
    // It issues only end-entity certificates, no further CAs.
    new x509.BasicConstraintsExtension(true, 0, true),
    new x509.KeyUsagesExtension(keyCertSign | cRLSign | digitalSignature, true),
  ];
}

function endExtensions(x509: typeof X509, { keyType }: KeyMaterial): X509.Extension[] {
  const { digitalSignature, keyEncipherment } = x509.KeyUsageFlags;
  const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(
      keyType === 'RSA' ? digitalSignature | keyEncipherment : digitalSignature,
      true,
    ),
    new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth]),
  ];
}

function alternativeNames(
  x509: typeof X509,
  names: readonly { type: 'dns' | 'ip' | 'email' | 'url'; value: string }[],
): X509.Extension[] {
  return names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension([...names])];
}
