/**
 * Verifies client certificates: issued by one of the given CAs, for clients, and valid at the given time. The TLS
 * handshake proves that the client holds the key. A chain has two links: an intermediate CA must be one of those given.
 */
import { X509Certificate } from 'node:crypto';
import { factsOf, parseCertificate } from './certificate-facts.ts';

const clientAuthentication = '1.3.6.1.5.5.7.3.2';
const pemBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const mostAuthorities = 20;

/** Throws an error that says what would be right, if the text contains no CA certificates or anything else. */
export function authoritiesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(pemBlock) ?? [];
  if (blocks.length === 0 || blocks.length > mostAuthorities)
    throw new TypeError(`must contain 1 to ${mostAuthorities} certificates in PEM`);
  if (pem.replace(pemBlock, '').includes('-----BEGIN')) throw new TypeError('must contain only certificates');
  return blocks.map(authority);
}

function authority(block: string): X509Certificate {
  try {
    const certificate = new X509Certificate(block);
    if (certificate.ca) return certificate;
  } catch {
    // Not a certificate.
  }
  throw new TypeError('must contain only CA certificates');
}

/**
 * The names in a certificate if it is valid: the subject in RFC 2253 notation, and the alternative names, such as
 * `dns:build.example.com` and `uri:spiffe://example.com/build`. Null if it is not valid.
 */
export function provenNames(
  der: Uint8Array,
  authorities: readonly X509Certificate[],
  now: number,
): readonly string[] | null {
  try {
    const parsed = parseCertificate(Buffer.from(der), 'certificate');
    if (!isForClient(parsed.x509, now) || !authorities.some(one => hasIssued(one, parsed.x509, now)))
      return null;
    const { subject, sans } = factsOf(parsed, 'certificate');
    return [subject, ...sans];
  } catch {
    return null;
  }
}

function isForClient(leaf: X509Certificate, now: number): boolean {
  const usages = leaf.keyUsage as readonly string[] | undefined; // Despite its name, the extended key usages.
  return !leaf.ca && isValid(leaf, now) && (usages === undefined || usages.includes(clientAuthentication));
}

function hasIssued(authority: X509Certificate, leaf: X509Certificate, now: number): boolean {
  return isValid(authority, now) && leaf.checkIssued(authority) && leaf.verify(authority.publicKey);
}

function isValid({ validFromDate, validToDate }: X509Certificate, now: number): boolean {
  return validFromDate.getTime() <= now && now < validToDate.getTime();
}
