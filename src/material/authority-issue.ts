/**
 * What an authority signs: its own certificate, those of authorities below it, end certificates and revocation lists.
 *
 * Guarantees: an end certificate has exactly the names that it is given, all within the constraints of the authority's
 * certificate, and never outlives it. Authorities and their certificates are linked by key identifiers, on which
 * renewal information relies. Serial numbers are random and are chosen before anything is signed, so that they can be
 * recorded first.
 * Refuses: names outside the constraints, a certificate of the authority that doesn't match its key, and one that
 * can't issue others.
 */
import { createHash, createPublicKey } from 'node:crypto';
import type * as X509 from '@peculiar/x509';
import type { IssuedName } from '../contract/certificate-names.ts';
import { invalid } from '../contract/errors.ts';
import {
  certificateFitsKey,
  factsOf,
  type ParsedCertificate,
  parseCertificate,
} from './certificate-facts.ts';
import {
  jsonName,
  library,
  type Signer,
  serialOf,
  signerOf,
  signingAlgorithm,
  webKey,
} from './certificate-issue.ts';
import { octets, readDer, sequence, wholeBits } from './der.ts';
import { parseName } from './distinguished-name.ts';
import { importKey } from './key-material.ts';
import {
  constraintsAllow,
  constraintsOf,
  encodeConstraints,
  extensionsOf,
  nameConstraintsId,
} from './name-constraints.ts';
import { readPem } from './pem.ts';

interface SigningAuthority {
  /** Of the authority alone. */
  readonly certificatePem: string;
  readonly privatePem: string;
}

export interface AuthorityDraft {
  readonly subject: string;
  readonly serial: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** The domains and address ranges of the certificates below it; null for no constraints. */
  readonly permitted: readonly string[] | null;
}

export interface EndCertificateDraft {
  readonly publicPem: string;
  readonly names: readonly IssuedName[];
  readonly serial: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly usages: readonly ('server' | 'client')[];
  /** Where the revocation list is; null if the service doesn't know its address. */
  readonly listUrl: string | null;
}

export interface RevokedCertificate {
  readonly serial: string;
  readonly at: Date;
  /** The number of the reason in RFC 5280. */
  readonly reason: number;
}

export interface ListDraft {
  readonly number: bigint;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  readonly revoked: readonly RevokedCertificate[];
}

const listNumberId = '2.5.29.20';
const keyIdentifierId = '2.5.29.14';
const longestCommonName = 64;
const authorityLimits = { field: 'certificate', maxBytes: 64 * 1024, maxBlocks: 1, allowNotes: true };

export function newSerial(): string {
  return serialOf(undefined);
}

export function readAuthority(pem: string): ParsedCertificate {
  return parseCertificate(readPem(pem, authorityLimits)[0]!.bytes, authorityLimits.field);
}

/** The key identifier that a certificate names as its own. */
export function keyIdentifierOf({ tbs, x509 }: Pick<ParsedCertificate, 'tbs' | 'x509'>): Buffer {
  const value = extensionsOf(tbs).get(keyIdentifierId);
  if (value !== undefined) return octets(readDer(value));
  // As most authorities compute it (RFC 5280, 4.2.1.2, method 1).
  const spki = x509.publicKey.export({ format: 'der', type: 'spki' });
  return createHash('sha1')
    .update(wholeBits(sequence(readDer(spki))[1]))
    .digest();
}

interface Opened extends Signer {
  readonly x509: typeof X509;
  readonly parsed: ParsedCertificate;
  readonly issuer: Buffer;
  readonly keyIdentifier: string;
  readonly expiresAt: Date;
}

async function open({ certificatePem, privatePem }: SigningAuthority): Promise<Opened> {
  const parsed = readAuthority(certificatePem);
  const facts = factsOf(parsed, 'certificate');
  const signer = await signerOf(privatePem);
  if (!parsed.x509.ca) throw invalid('certificate', 'is a certificate that can’t issue others');
  if (!certificateFitsKey(facts, signer.material.publicPem))
    throw invalid('certificate', 'is a certificate for another key');
  return {
    ...signer,
    x509: await library(),
    parsed,
    // The issuer is copied byte for byte, because verifiers compare encodings.
    issuer: parsed.tbs[4]!.raw,
    keyIdentifier: keyIdentifierOf(parsed).toString('hex'),
    expiresAt: facts.expiresAt,
  };
}

/** A root signs itself. It allows one more level of authorities. */
export async function issueRoot(privatePem: string, draft: AuthorityDraft): Promise<string> {
  const name = jsonName(parseName(draft.subject, 'subject'));
  const { algorithm, keys } = await signerOf(privatePem);
  const x509 = await library();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: draft.serial,
    name,
    notBefore: draft.notBefore,
    notAfter: draft.notAfter,
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      ...authorityExtensions(x509, 1, draft.permitted),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

/** An authority below this one, which issues end certificates only. */
export async function issueIntermediate(
  authority: SigningAuthority,
  publicPem: string,
  draft: AuthorityDraft,
): Promise<string> {
  const name = jsonName(parseName(draft.subject, 'subject'));
  const { x509, issuer, keyIdentifier, expiresAt, keys, algorithm } = await open(authority);
  const material = await importKey(publicPem);
  const publicKey = webKey(createPublicKey(material.publicPem), signingAlgorithm(material), 'verify');
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: draft.serial,
    subject: name,
    issuer: new x509.Name(issuer),
    notBefore: draft.notBefore,
    notAfter: earlier(draft.notAfter, expiresAt),
    publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      ...authorityExtensions(x509, 0, draft.permitted),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
      new x509.AuthorityKeyIdentifierExtension(keyIdentifier),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

function authorityExtensions(x509: typeof X509, levels: number, permitted: readonly string[] | null) {
  const { keyCertSign, cRLSign } = x509.KeyUsageFlags;
  const constraints = permitted && new x509.Extension(nameConstraintsId, true, encodeConstraints(permitted));
  return [
    new x509.BasicConstraintsExtension(true, levels, true),
    new x509.KeyUsagesExtension(keyCertSign | cRLSign, true),
    ...(constraints ? [constraints] : []),
  ];
}

/** A certificate of a service. */
export async function issueEndCertificate(
  authority: SigningAuthority,
  draft: EndCertificateDraft,
): Promise<string> {
  const { x509, parsed, issuer, keyIdentifier, expiresAt, keys, algorithm } = await open(authority);
  const constraints = constraintsOf(parsed.tbs);
  if (draft.names.length === 0 || !draft.names.every(name => constraintsAllow(constraints, name)))
    throw invalid('names', 'has a name that the authority’s certificate doesn’t permit');
  if (draft.notBefore >= expiresAt) throw invalid('profile', 'belongs to an authority that has expired');
  const material = await importKey(draft.publicPem);
  const publicKey = webKey(createPublicKey(material.publicPem), signingAlgorithm(material), 'verify');
  const { digitalSignature, keyEncipherment } = x509.KeyUsageFlags;
  const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
  const purposes = draft.usages.map(usage => (usage === 'server' ? serverAuth : clientAuth));
  const isRsa = material.keyType === 'RSA';
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: draft.serial,
    subject: commonName(draft.names),
    issuer: new x509.Name(issuer),
    notBefore: draft.notBefore,
    notAfter: earlier(draft.notAfter, expiresAt),
    publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(isRsa ? digitalSignature | keyEncipherment : digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(purposes),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
      new x509.AuthorityKeyIdentifierExtension(keyIdentifier),
      new x509.SubjectAlternativeNameExtension(draft.names.map(({ kind, value }) => ({ type: kind, value }))),
      ...(draft.listUrl === null ? [] : [new x509.CRLDistributionPointsExtension([draft.listUrl])]),
    ],
  });
  return `${certificate.toString('pem')}\n`;
}

/** The first host name if it fits. Clients use the alternative names. */
function commonName(names: readonly IssuedName[]): X509.JsonName {
  const { value } = names.find(({ kind }) => kind === 'dns') ?? names[0]!;
  const text = value.length <= longestCommonName ? value : 'service';
  return jsonName([{ type: '2.5.4.3', value: text, encoding: 'utf8String' }]);
}

/** A list of the certificates that were revoked before they expired, as DER. */
export async function issueList(authority: SigningAuthority, draft: ListDraft): Promise<Buffer> {
  const { x509, issuer, keyIdentifier, keys, algorithm } = await open(authority);
  const list = await x509.X509CrlGenerator.create({
    issuer: new x509.Name(issuer).toJSON(),
    thisUpdate: draft.thisUpdate,
    nextUpdate: draft.nextUpdate,
    entries: draft.revoked.map(({ serial, at, reason }) => ({
      serialNumber: serial,
      revocationDate: at,
      // RFC 5280 asks not to write the reason "unspecified".
      ...(reason === 0 ? {} : { reason }),
    })),
    extensions: [
      new x509.AuthorityKeyIdentifierExtension(keyIdentifier),
      new x509.Extension(listNumberId, false, encodeNumber(draft.number)),
    ],
    signingAlgorithm: algorithm,
    signingKey: keys.privateKey,
  });
  return Buffer.from(list.rawData);
}

function encodeNumber(value: bigint): Buffer {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  const positive = bytes[0]! & 0x80 ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes;
  return Buffer.concat([Buffer.from([0x02, positive.length]), positive]);
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}
