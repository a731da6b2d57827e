/**
 * Reads a signing request (PKCS#10) that someone else created.
 *
 * Guarantees: strictly parsed DER, of which the key, the signature and every extension were checked before a library
 * sees it. What remains is a public key and names; everything else is decided by the authority. The signature proves
 * that the sender has the private key.
 * Refuses: weak or unusable keys, signatures with SHA-1 or of another key, requests without names, a common name that is
 * not among the names, names that are neither host names nor addresses, requests for an authority, and extensions that
 * would be silently left out.
 */
import { verify } from 'node:crypto';
import { type IssuedName, issuedName } from '../contract/certificate-names.ts';
import { invalid } from '../contract/errors.ts';
import { type Der, DerError, oid, readDer, sequence, tags, unsigned, wholeBits } from './der.ts';
import { importSpki, type KeyMaterial } from './key-encodings.ts';
import { extensionsIn } from './name-constraints.ts';
import { readPem } from './pem.ts';
import { refusing } from './refusing.ts';

export interface CertificateRequest {
  /** SPKI. */
  readonly publicPem: string;
  readonly names: readonly IssuedName[];
}

export const largestRequest = 64 * 1024;
const mostNames = 100;
const smallestExponent = 65_537n;
const unreadable = 'is not a readable signing request: it is damaged or cut off, or not strict DER';

const commonName = '2.5.4.3';
const extensionRequest = '1.2.840.113549.1.9.14';
const alternativeName = '2.5.29.17';
const basicConstraints = '2.5.29.19';
/** Key usages and key identifier, which the authority decides. */
const decidedHere = new Set(['2.5.29.14', '2.5.29.15', '2.5.29.37', alternativeName, basicConstraints]);

/** The hash of each signature algorithm that is accepted; null for Ed25519, which has its own. */
const hashes: Readonly<Record<string, string | null>> = {
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
  '1.3.101.112': null,
};

/** From PEM. */
export function readRequestPem(pem: string, field: string): CertificateRequest {
  const [block, ...more] = readPem(pem, { field, maxBytes: largestRequest, maxBlocks: 1, allowNotes: true });
  const isRequest = block!.label === 'CERTIFICATE REQUEST' || block!.label === 'NEW CERTIFICATE REQUEST';
  if (!isRequest || block!.headers.size > 0 || more.length > 0)
    throw invalid(field, 'must contain one certificate signing request (CSR)');
  return readRequest(block!.bytes, field);
}

/** From DER. */
export function readRequest(bytes: Buffer, field: string): CertificateRequest {
  if (bytes.length > largestRequest) throw invalid(field, `is larger than ${largestRequest} bytes`);
  return refusing(field, unreadable, () => {
    const [info, algorithm, signature] = sequence(readDer(bytes), 3, 3);
    const [version, subject, spki, attributes] = sequence(info, 4, 4);
    if (unsigned(version) !== 0n) throw new DerError('a request of an unsupported version');
    if (attributes!.tag !== 0xa0) throw new DerError('an unexpected tag');
    const key = usableKey(spki!, field);
    checkSignature(info!, algorithm!, wholeBits(signature), key, field);
    const names = namesIn(attributes!, field);
    checkSubject(subject!, names, field);
    return { publicPem: key.publicPem, names };
  });
}

function usableKey(spki: Der, field: string): KeyMaterial {
  const key = importSpki(spki.raw, field);
  const isSigning = key.keyType === 'RSA' || key.keyType === 'EC' || key.curve === 'Ed25519';
  if (!isSigning || key.curve === 'secp256k1')
    throw invalid(field, 'has a key that clients don’t accept: use RSA, EC P-256, P-384, P-521 or Ed25519');
  if (key.keyType === 'RSA') {
    const exponent = unsigned(sequence(readDer(wholeBits(sequence(spki)[1])))[1]);
    if (exponent < smallestExponent) throw invalid(field, 'has an RSA key with a small public exponent');
  }
  return key;
}

function checkSignature(info: Der, algorithm: Der, signature: Buffer, key: KeyMaterial, field: string): void {
  const [name, parameters] = sequence(algorithm, 1, 2);
  const id = oid(name);
  const hash = Object.hasOwn(hashes, id) ? hashes[id]! : undefined;
  if (hash === undefined)
    throw invalid(field, 'is signed with an algorithm that is not accepted: use SHA-256');
  const isRsa = id.startsWith('1.2.840.113549.1.1.');
  if (parameters && !(isRsa && parameters.tag === tags.null)) throw new DerError('unexpected parameters');
  const type = isRsa ? 'RSA' : hash === null ? 'OKP' : 'EC';
  if (key.keyType !== type || !isSignedBy(info.raw, signature, key.publicPem, hash))
    throw invalid(field, 'has a signature that doesn’t match its key');
}

function isSignedBy(data: Buffer, signature: Buffer, publicPem: string, hash: string | null): boolean {
  try {
    return verify(hash, data, publicPem, signature);
  } catch {
    return false;
  }
}

function namesIn(attributes: Der, field: string): IssuedName[] {
  const wanted = attributes.children.filter(one => oid(sequence(one, 2, 2)[0]) === extensionRequest);
  if (wanted.length !== 1) throw invalid(field, 'must have its names as subject alternative names');
  const values = sequence(wanted[0])[1]!;
  if (values.tag !== tags.set || values.children.length !== 1)
    throw new DerError('an attribute without a single value');
  const extensions = extensionsIn(values.children[0]!);
  for (const id of extensions.keys())
    if (!decidedHere.has(id))
      throw invalid(field, 'requests an extension that this authority doesn’t write into certificates');
  const constraints = extensions.get(basicConstraints);
  if (constraints !== undefined && sequence(readDer(constraints), 0, 2).some(isTrue))
    throw invalid(field, 'requests a certificate of an authority');
  const found = extensions.get(alternativeName);
  if (found === undefined) throw invalid(field, 'must have its names as subject alternative names');
  const all = sequence(readDer(found), 1).map(one => nameOf(one, field));
  return distinct(all, field);
}

const isTrue = ({ tag, body }: Der) => tag === tags.boolean && body[0] === 0xff;

function nameOf({ tag, body }: Der, field: string): IssuedName {
  if (tag === 0x82) {
    const name = issuedName(body.toString('latin1'));
    if (name?.kind === 'dns') return name;
  }
  if (tag === 0x87 && (body.length === 4 || body.length === 16)) {
    const text = body.length === 4 ? body.join('.') : groupsOf(body);
    return issuedName(text)!;
  }
  throw invalid(field, 'has a name that is neither a well-formed host name nor an IP address');
}

function groupsOf(body: Buffer): string {
  return Array.from({ length: 8 }, (_, at) => body.readUInt16BE(2 * at).toString(16)).join(':');
}

/** Refuses names that can't be issued, doubles and too many; in one spelling. */
export function namesFrom(texts: readonly string[], field: string): IssuedName[] {
  const all = texts.map(text => {
    const name = issuedName(text);
    if (name === null) throw invalid(field, 'must contain only well-formed host names and IP addresses');
    return name;
  });
  return distinct(all, field);
}

function distinct(names: readonly IssuedName[], field: string): IssuedName[] {
  const all = new Map(names.map(name => [`${name.kind}:${name.value}`, name]));
  if (all.size === 0 || all.size > mostNames) throw invalid(field, `must have 1 to ${mostNames} names`);
  return [...all.values()];
}

/** Other parts of the subject are left out of certificates, so they can't mislead anyone. */
function checkSubject(subject: Der, names: readonly IssuedName[], field: string): void {
  const parts = sequence(subject).flatMap(level => {
    if (level.tag !== tags.set) throw new DerError('a name without sets');
    return level.children.map(pair => sequence(pair, 2, 2));
  });
  const common = parts.filter(([type]) => oid(type) === commonName);
  if (common.length > 1) throw invalid(field, 'has more than one common name');
  for (const [, value] of common) {
    const name = issuedName(value!.body.toString('latin1'));
    if (name === null || !names.some(({ kind, value: known }) => kind === name.kind && known === name.value))
      throw invalid(field, 'has a common name that is not among its alternative names');
  }
}
