/**
 * The properties of a certificate.
 *
 * Guarantees: read from strictly parsed DER, with names in RFC 2253 notation and alternative names distinguished by
 * their encoded kind, never by splitting a printed string.
 * Refuses: anything that OpenSSL can't parse, invalid dates, and a leaf whose key we would not store.
 */
import { createPublicKey, X509Certificate } from 'node:crypto';
import { invalid } from '../contract/errors.ts';
import { alternativeNamesOf } from './alternative-names.ts';
import { type Der, DerError, readDer, sequence } from './der.ts';
import { formatName } from './distinguished-name.ts';
import type { KeyType } from './key-algorithms.ts';
import { importSpki } from './key-encodings.ts';
import { refusing } from './refusing.ts';

export interface CertificateFacts {
  readonly subject: string;
  readonly issuer: string;
  /** Hex, lower case. */
  readonly serial: string;
  /** SHA-256 of the DER; hex, lower case. */
  readonly fingerprint: string;
  /** `dns:…`, `ip:…`, `email:…` or `uri:…`. */
  readonly sans: readonly string[];
  readonly notBefore: Date;
  readonly expiresAt: Date;
  readonly keyType: KeyType;
  readonly keySize: number;
  /** SPKI. */
  readonly publicPem: string;
}

/** A certificate accepted by the strict parser and by OpenSSL. */
export interface ParsedCertificate {
  readonly x509: X509Certificate;
  readonly tbs: readonly Der[];
  readonly fingerprint: string;
}

const unreadable = 'contains a certificate that can’t be read: it is damaged or cut off, or not strict DER';

export function parseCertificate(bytes: Buffer, field: string): ParsedCertificate {
  return refusing(field, unreadable, () => {
    const [body, algorithm] = sequence(readDer(bytes), 3, 3);
    // Version 1 certificates have no version field; the other fields are then in the same order.
    const members = sequence(body, 6, 10);
    const tbs = members[0]!.tag === 0xa0 ? members.slice(1) : members;
    if (!tbs[1]!.raw.equals(algorithm!.raw)) throw new DerError('two signature algorithms');
    const x509 = new X509Certificate(bytes);
    return { x509, tbs, fingerprint: x509.fingerprint256.replaceAll(':', '').toLowerCase() };
  });
}

export function factsOf({ x509, tbs, fingerprint }: ParsedCertificate, field: string): CertificateFacts {
  return refusing(field, unreadable, () => {
    const [serial, , issuer, , subject, spki] = tbs;
    const { keyType, keySize, publicPem } = importSpki(spki!.raw, field);
    return {
      subject: formatName(subject!),
      issuer: formatName(issuer!),
      serial: serial!.body.toString('hex').replace(/^00(?=.)/, ''),
      fingerprint,
      sans: alternativeNamesOf(tbs),
      ...datesOf(x509, field),
      keyType,
      keySize,
      publicPem,
    };
  });
}

function datesOf(x509: X509Certificate, field: string): { notBefore: Date; expiresAt: Date } {
  const { validFromDate: notBefore, validToDate: expiresAt } = x509;
  // Only the texts reveal an invalid date; the runtime's own date values are then undefined.
  const areDates = [x509.validFrom, x509.validTo].every(text => !Number.isNaN(Date.parse(text)));
  if (!areDates || notBefore > expiresAt)
    throw invalid(field, 'contains a certificate whose dates are not in order');
  return { notBefore, expiresAt };
}

/** When a certificate that was imported before expires; with a chain, the first of it. */
export function expiryOf(pem: string): Date {
  return new X509Certificate(pem).validToDate;
}

/** Whether the certificate's key is this one, regardless of encoding. */
export function certificateFitsKey(facts: Pick<CertificateFacts, 'publicPem'>, publicPem: string): boolean {
  return createPublicKey(facts.publicPem).equals(createPublicKey(publicPem));
}
