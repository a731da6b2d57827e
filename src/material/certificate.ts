/**
 * Imports certificates: a leaf with its chain, and its private key if included.
 *
 * Guarantees: one leaf, first; after it its issuers in issuing order, each link verified by signature; no duplicates; a
 * private key only if it is the leaf's. PEM and PKCS#12 have the same result.
 * Refuses: two leaves, certificates that belong to another chain, more than ten certificates, a key that matches none
 * of them, and input over the limits before any of it is parsed.
 */
import { invalid } from '../contract/errors.ts';
import {
  type CertificateFacts,
  certificateFitsKey,
  factsOf,
  type ParsedCertificate,
  parseCertificate,
} from './certificate-facts.ts';
import { importPkcs8, importSpki } from './key-encodings.ts';
import { isPrivateKeyLabel, type KeyMaterial, readKeyBlock } from './key-material.ts';
import { type PemBlock, readPem, toPem } from './pem.ts';
import { openPkcs12 } from './pkcs12.ts';
import { refusing } from './refusing.ts';

export type { CertificateFacts } from './certificate-facts.ts';
export { certificateFitsKey, expiryOf } from './certificate-facts.ts';
export { checkNames, issueServerCertificate, selfSign, signingRequest } from './certificate-issue.ts';

export interface ImportedCertificate {
  /** Leaf first, then the chain in issuing order. */
  readonly pem: string;
  /** The leaf's. */
  readonly facts: CertificateFacts;
  readonly key: KeyMaterial | null;
}

const maxCertificateBytes = 256 * 1024;
const maxChain = 10;
/** Bundles often contain duplicates. `maxChain` applies after they are removed. */
const maxBlocks = 32;

/** Reads certificates in any order, with or without one private key. */
export async function importCertificatePem(text: string, passphrase?: string): Promise<ImportedCertificate> {
  const limits = { field: 'pem', maxBytes: maxCertificateBytes, maxBlocks, allowNotes: true };
  const blocks = readPem(text, limits).filter(({ label }) => label !== 'EC PARAMETERS');
  const keyBlocks = blocks.filter(({ label }) => isPrivateKeyLabel(label));
  if (keyBlocks.length > 1) throw invalid('pem', 'contains more than one private key');
  const certificates = blocks.filter(block => !keyBlocks.includes(block)).map(certificateBytes);
  // The chain comes first: a broken one is refused before the costly decryption of the key.
  const parsed = distinct(certificates, 'pem');
  const key = keyBlocks[0] ? await readKeyBlock(keyBlocks[0], 'pem', passphrase) : null;
  return assemble(parsed, key, 'pem');
}

function certificateBytes({ label, headers, bytes }: PemBlock): Buffer {
  if ((label !== 'CERTIFICATE' && label !== 'X509 CERTIFICATE') || headers.size > 0)
    throw invalid('pem', 'contains a PEM block that is neither a certificate nor a private key');
  return bytes;
}

/** Reads a PKCS#12 with its certificates and, if included, its key. */
export async function importPkcs12(bytes: Uint8Array, passphrase?: string): Promise<ImportedCertificate> {
  const contents = openPkcs12(bytes, passphrase);
  const parsed = distinct(contents.certificates, 'pkcs12');
  return assemble(parsed, contents.key && importPkcs8(contents.key, 'pkcs12'), 'pkcs12');
}

function distinct(certificates: readonly Buffer[], field: string): ParsedCertificate[] {
  if (certificates.length === 0) throw invalid(field, 'contains no certificate');
  if (certificates.length > maxBlocks) throw invalid(field, `contains more than ${maxChain} certificates`);
  const parsed = certificates.map(bytes => parseCertificate(bytes, field));
  const byFingerprint = new Map(parsed.map(certificate => [certificate.fingerprint, certificate]));
  if (byFingerprint.size > maxChain) throw invalid(field, `contains more than ${maxChain} certificates`);
  return [...byFingerprint.values()];
}

function assemble(
  certificates: ParsedCertificate[],
  key: KeyMaterial | null,
  field: string,
): ImportedCertificate {
  const issuersOf = linkIssuers(certificates, field);
  const leaf = key ? leafOfKey(certificates, key, field) : onlyLeaf(certificates, issuersOf, field);
  const chain = inIssuingOrder(leaf, issuersOf);
  if (chain.length !== certificates.length)
    throw invalid(field, 'contains a certificate that is not part of the chain of the others');
  const pem = chain.map(({ x509 }) => toPem('CERTIFICATE', x509.raw)).join('');
  return { pem, facts: factsOf(leaf, field), key };
}

type Issuers = ReadonlyMap<ParsedCertificate, readonly ParsedCertificate[]>;

/** Finds which of the others issued each certificate: by name, by key identifier, and by signature. */
function linkIssuers(certificates: readonly ParsedCertificate[], field: string): Issuers {
  const links = certificates.map(certificate => {
    const others = certificates.filter(other => other !== certificate);
    return [certificate, others.filter(other => isIssuedBy(certificate, other, field))] as const;
  });
  for (const [certificate, issuers] of links)
    if (issuers.length === 0 && claimsItself(certificate) && !isSignedBy(certificate, certificate, field))
      throw invalid(field, 'contains a self-signed certificate whose signature is broken');
  return new Map(links);
}

const claimsItself = ({ tbs }: ParsedCertificate): boolean => tbs[2]!.raw.equals(tbs[4]!.raw);

function isIssuedBy(certificate: ParsedCertificate, issuer: ParsedCertificate, field: string): boolean {
  // Version 1 roots can't declare that they are CAs, so being self-signed is enough.
  const mayIssue = issuer.x509.ca || claimsItself(issuer);
  return mayIssue && certificate.x509.checkIssued(issuer.x509) && isSignedBy(certificate, issuer, field);
}

function isSignedBy({ x509 }: ParsedCertificate, issuer: ParsedCertificate, field: string): boolean {
  // The issuer's key must pass our own limits first, because verifying with a huge key is expensive.
  importSpki(issuer.tbs[5]!.raw, field);
  return refusing(field, 'contains a certificate whose signature can’t be checked', () =>
    x509.verify(issuer.x509.publicKey),
  );
}

function leafOfKey(
  certificates: readonly ParsedCertificate[],
  key: KeyMaterial,
  field: string,
): ParsedCertificate {
  const fitting = certificates.filter(certificate =>
    certificateFitsKey(factsOf(certificate, field), key.publicPem),
  );
  if (fitting.length === 0)
    throw invalid(field, 'contains a private key that matches none of its certificates');
  if (fitting.length > 1) throw invalid(field, 'contains more than one certificate for the same key');
  return fitting[0]!;
}

function onlyLeaf(
  certificates: readonly ParsedCertificate[],
  issuersOf: Issuers,
  field: string,
): ParsedCertificate {
  const issuing = new Set([...issuersOf.values()].flat());
  const leaves = certificates.filter(certificate => !issuing.has(certificate));
  if (leaves.length > 1) throw invalid(field, 'contains more than one end certificate; send them one by one');
  if (leaves.length === 0)
    throw invalid(field, 'contains certificates that issue each other, and no end certificate');
  return leaves[0]!;
}

/** By distance from the leaf, so that a cross-signed CA comes next to its self-signed counterpart. */
function inIssuingOrder(leaf: ParsedCertificate, issuersOf: Issuers): ParsedCertificate[] {
  const chain = new Set([leaf]);
  for (const certificate of chain) for (const issuer of issuersOf.get(certificate)!) chain.add(issuer);
  return [...chain];
}
