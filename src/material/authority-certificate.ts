/**
 * Certificates of authorities as they are read: what they permit, and those that were signed elsewhere.
 *
 * Guarantees: a certificate that is brought back belongs to the authority's key, can issue others and sign revocation
 * lists, and is followed by the certificates that signed it, each verified, up to one that signed itself. All
 * constraints in the chain can be enforced here.
 * Refuses: certificates of other keys, end certificates, chains with a gap, and constraints that can't be enforced.
 */
import type { Authority } from '../contract/authorities.ts';
import { type AddressRange, addressText } from '../contract/certificate-names.ts';
import { invalid } from '../contract/errors.ts';
import {
  certificateFitsKey,
  factsOf,
  type ParsedCertificate,
  parseCertificate,
} from './certificate-facts.ts';
import { readDer, tags } from './der.ts';
import { formatName } from './distinguished-name.ts';
import { importSpki } from './key-encodings.ts';
import { constraintsOf, extensionsOf, type NameConstraints } from './name-constraints.ts';
import { readPem, toPem } from './pem.ts';
import { refusing } from './refusing.ts';

interface ReadFacts extends Pick<Authority, 'fingerprint'> {
  readonly keyType: Authority['key_type'];
  readonly keySize: number;
  readonly permitted: string[] | null;
}

export interface BroughtBack {
  readonly certificate: string;
  /** Those above it. */
  readonly chain: string;
  readonly subject: string;
  readonly expiresAt: Date;
}

const field = 'certificate';
const limits = { field, maxBytes: 256 * 1024, maxBlocks: 10, allowNotes: true };
const signsCertificates = 0x04;
const signsLists = 0x02;

/** What is shown of an authority, from its key and its certificate. */
export function certificateFacts(publicPem: string, certificate: string | null): ReadFacts {
  const { keyType, keySize } = importSpki(readPem(publicPem, limits)[0]!.bytes, field);
  const shown = { keyType: keyType as ReadFacts['keyType'], keySize };
  if (certificate === null) return { ...shown, fingerprint: null, permitted: null };
  const parsed = parsedChain(certificate)[0]!;
  return { ...shown, fingerprint: parsed.fingerprint, permitted: permittedIn(constraintsOf(parsed.tbs)) };
}

function permittedIn({ domains, ranges }: NameConstraints): string[] | null {
  if (domains === null && ranges === null) return null;
  return [...(domains ?? []), ...(ranges ?? []).map(rangeText)];
}

function rangeText({ bytes, bits }: AddressRange): string {
  const text = addressText(bytes);
  return bits === bytes.length * 8 ? text : `${text}/${bits}`;
}

function parsedChain(pem: string): ParsedCertificate[] {
  return readPem(pem, limits).map(({ label, headers, bytes }) => {
    if (label !== 'CERTIFICATE' || headers.size > 0) throw invalid(field, 'must contain only certificates');
    return parseCertificate(bytes, field);
  });
}

/** The constraints of all certificates in the chain. */
export function constraintsIn(chain: string): NameConstraints[] {
  return chain === '' ? [] : parsedChain(chain).map(({ tbs }) => constraintsOf(tbs));
}

/** Reads the certificate of an authority that was signed elsewhere, with those above it. */
export function readBroughtBack(pem: string, publicPem: string, now: number): BroughtBack {
  const all = parsedChain(pem);
  const own = all.find(one => certificateFitsKey(factsOf(one, field), publicPem));
  if (own === undefined) throw invalid(field, 'must contain the certificate of this authority’s key');
  const chain = chainFrom(own, all);
  for (const one of chain) checkAuthority(one, now);
  const [, ...above] = chain.map(({ x509 }) => toPem('CERTIFICATE', x509.raw));
  return {
    certificate: toPem('CERTIFICATE', own.x509.raw),
    chain: above.join(''),
    subject: formatName(own.tbs[4]!),
    expiresAt: chain.map(({ x509 }) => x509.validToDate).reduce((one, other) => (one < other ? one : other)),
  };
}

/** Each is signed by the next; the last signed itself. */
function chainFrom(own: ParsedCertificate, all: readonly ParsedCertificate[]): ParsedCertificate[] {
  const chain = [own];
  for (let at = own; !isSignedBy(at, at); ) {
    const next = all.find(one => !chain.includes(one) && isSignedBy(at, one));
    if (next === undefined)
      throw invalid(field, 'must be followed by the certificates that signed it, up to the root');
    chain.push(next);
    at = next;
  }
  if (chain.length !== all.length)
    throw invalid(field, 'contains a certificate that doesn’t belong to the chain');
  return chain;
}

function isSignedBy({ x509, tbs }: ParsedCertificate, issuer: ParsedCertificate): boolean {
  return tbs[2]!.raw.equals(issuer.tbs[4]!.raw) && x509.verify(issuer.x509.publicKey);
}

function checkAuthority({ x509, tbs }: ParsedCertificate, now: number): void {
  if (!x509.ca) throw invalid(field, 'contains a certificate that can’t issue others');
  if (x509.validToDate.getTime() <= now) throw invalid(field, 'contains a certificate that has expired');
  refusing(field, 'contains name constraints that can’t be enforced', () => constraintsOf(tbs));
  const usage = keyUsageOf(tbs);
  const needed = signsCertificates | signsLists;
  if (usage !== null && (usage & needed) !== needed)
    throw invalid(field, 'contains a certificate that may not sign certificates and revocation lists');
}

/** The first byte of the key usage; null if the certificate has none. */
function keyUsageOf(tbs: ParsedCertificate['tbs']): number | null {
  const value = extensionsOf(tbs).get('2.5.29.15');
  if (value === undefined) return null;
  const { tag, body } = readDer(value);
  return tag === tags.bits ? (body[1] ?? 0) : 0;
}

/** The serial number and the key of a certificate that a client sent, in DER. */
export function serialInCertificate(bytes: Buffer): { readonly serial: string; readonly publicPem: string } {
  const { serial, publicPem } = factsOf(parseCertificate(bytes, field), field);
  return { serial, publicPem };
}
