/**
 * Signed requests of ACME clients (RFC 8555, 6.2): flattened JSON Web Signatures.
 *
 * Guarantees: a request is read only from its protected header and payload, was signed with an algorithm from a short
 * list, and carries either a key or the address of an account. Public keys are of kinds that we accept for certificates.
 * Refuses: unprotected headers, symmetric algorithms except for the binding of an account, private keys, small RSA keys.
 */
import { createHmac, createPublicKey, timingSafeEqual } from 'node:crypto';
import { AcmeProblem } from '../contract/acme.ts';

export type PublicJwk = Readonly<Record<string, string>>;

export interface SignedMessage {
  readonly protected: string;
  readonly payload: string;
  readonly signature: string;
  readonly header: Readonly<Record<string, unknown>>;
}

const algorithms = ['ES256', 'ES384', 'ES512', 'EdDSA', 'RS256'];
const bindingHashes: Readonly<Record<string, string>> = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' };
const members: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
};
const curves = new Set(['P-256', 'P-384', 'P-521', 'Ed25519']);
const shortestModulus = 2_048;
const longestModulus = 8_192;
const base64url = /^[\w-]*$/;

/** Throws `malformed` if it is not a flattened signature. */
export function readSigned(message: unknown): SignedMessage {
  const { protected: head, payload, signature, ...others } = (message ?? {}) as Record<string, unknown>;
  const isFlat = [head, payload, signature].every(one => typeof one === 'string' && base64url.test(one));
  if (!isFlat || Object.keys(others).length > 0) throw notSigned();
  const header = parsed(head as string);
  if (typeof header !== 'object' || header === null || Array.isArray(header)) throw notSigned();
  return { protected: head as string, payload: payload as string, signature: signature as string, header };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    throw notSigned();
  }
}

function notSigned(): AcmeProblem {
  return new AcmeProblem(
    'malformed',
    'the body must be a flattened JSON Web Signature with a protected header',
  );
}

/** The payload of a verified message; an empty one reads what its address names. */
export function payloadIn({ payload }: SignedMessage): unknown {
  return payload === '' ? null : parsed(payload);
}

/** Only the members that make up the key, so that equal keys are equal texts. */
export function publicJwk(given: unknown): PublicJwk {
  const jwk = (given ?? {}) as Record<string, unknown>;
  const names = typeof jwk.kty === 'string' && Object.hasOwn(members, jwk.kty) ? members[jwk.kty]! : [];
  const isWhole = names.length > 0 && names.every(name => typeof jwk[name] === 'string');
  if (!isWhole || 'd' in jwk || (jwk.kty !== 'RSA' && !curves.has(String(jwk.crv)))) throw badKey();
  const plain = Object.fromEntries(names.map(name => [name, jwk[name] as string]));
  if (jwk.kty === 'RSA') checkModulus(plain);
  return plain;
}

function checkModulus(jwk: PublicJwk): void {
  const bits = keyOf(jwk).asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < shortestModulus || bits > longestModulus) throw badKey();
}

function keyOf(jwk: PublicJwk) {
  try {
    return createPublicKey({ key: { ...jwk }, format: 'jwk' });
  } catch {
    throw badKey();
  }
}

/** SPKI. */
export function publicPemOf(jwk: PublicJwk): string {
  return keyOf(jwk).export({ format: 'pem', type: 'spki' }) as string;
}

function badKey(): AcmeProblem {
  return new AcmeProblem(
    'badPublicKey',
    'the key must be EC (P-256, P-384 or P-521), Ed25519, or RSA with 2048 bits or more',
  );
}

export async function thumbprintOf(jwk: PublicJwk): Promise<string> {
  const { calculateJwkThumbprint } = await import('jose');
  return calculateJwkThumbprint(jwk);
}

/** Throws unless this key signed the message. */
export async function verifySigned(message: SignedMessage, jwk: PublicJwk): Promise<void> {
  const { alg } = message.header;
  if (!algorithms.includes(String(alg)))
    throw new AcmeProblem('badSignatureAlgorithm', `alg must be one of ${algorithms.join(', ')}`);
  const { flattenedVerify } = await import('jose');
  const { payload, signature } = message;
  try {
    await flattenedVerify({ protected: message.protected, payload, signature }, keyOf(jwk), { algorithms });
  } catch {
    throw new AcmeProblem('malformed', 'the signature doesn’t match the key');
  }
}

/** Whether the binding of an account was signed with this secret. */
export function isBoundBy(message: SignedMessage, secret: Buffer): boolean {
  const hash = bindingHashes[String(message.header.alg)];
  if (hash === undefined)
    throw new AcmeProblem('badSignatureAlgorithm', 'the binding must be signed with HS256');
  const expected = createHmac(hash, secret).update(`${message.protected}.${message.payload}`).digest();
  const given = Buffer.from(message.signature, 'base64url');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
