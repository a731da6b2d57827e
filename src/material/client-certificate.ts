/**
 * Client certificates, judged: issued by one of the authorities that are given, for clients, and valid at the moment that
 * is given. That whoever shows one holds its key is for the TLS handshake to prove. A chain has two links: an
 * intermediate authority is one of those given.
 */
import { X509Certificate } from 'node:crypto';
import { factsOf, parseCertificate } from './certificate-facts.ts';

const clientAuthentication = '1.3.6.1.5.5.7.3.2';
const pemBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const mostAuthorities = 20;

/** Throws, saying what would be right, where the text holds none or something else. */
export function authoritiesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(pemBlock) ?? [];
  if (blocks.length === 0 || blocks.length > mostAuthorities)
    throw new TypeError(`must contain 1 to ${mostAuthorities} certificates in PEM`);
  if (pem.replace(pemBlock, '').includes('-----BEGIN'))
    throw new TypeError('must contain certificates alone');
  return blocks.map(authority);
}

function authority(block: string): X509Certificate {
  try {
    const certificate = new X509Certificate(block);
    if (certificate.ca) return certificate;
  } catch {
    // Not one either.
  }
  throw new TypeError('must contain certificates of authorities');
}

/**
 * The names that it gives its owner, if it proves them: the subject in RFC 2253 notation, and the alternative names, such
 * as `dns:build.example.com` and `uri:spiffe://example.com/build`. Null where it proves nothing.
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
  const usages = leaf.keyUsage as readonly string[] | undefined; // The extended ones, in spite of its name.
  return !leaf.ca && isValid(leaf, now) && (usages === undefined || usages.includes(clientAuthentication));
}

function hasIssued(authority: X509Certificate, leaf: X509Certificate, now: number): boolean {
  return isValid(authority, now) && leaf.checkIssued(authority) && leaf.verify(authority.publicKey);
}

function isValid({ validFromDate, validToDate }: X509Certificate, now: number): boolean {
  return validFromDate.getTime() <= now && now < validToDate.getTime();
}
