/**
 * Verifies JSON Web Tokens of other issuers: with a key from the issuer's own set, one of a few asymmetric algorithms,
 * and a given clock. The signature is checked before any claims. A token that proves nothing still costs one
 * verification, so that timing does not reveal how far a token got.
 */

import type { CompactVerifyGetKey, JSONWebKeySet, JWTPayload } from 'jose';
import { once } from '../base/memo.ts';

export type Claims = JWTPayload;

/** The keys of one issuer. */
export interface KeySet {
  readonly find: CompactVerifyGetKey;
}

interface TokenRules {
  /** Null if tokens of this issuer don't name it. */
  readonly issuer: string | null;
  readonly audience: string;
  readonly now: number;
}

/** Why a token proves nothing, for the operator. It repeats nothing from the token. */
export class TokenRefused extends Error {
  /** No key in the set has its id: the issuer may have a newer key. */
  readonly unknownKey: boolean;

  constructor(reason: string, unknownKey = false) {
    super(reason);
    this.unknownKey = unknownKey;
  }
}

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
/** Accepted token types. Others, such as logout tokens and proofs of possession, don't identify anyone. */
const types = new Set(['jwt', 'at+jwt', 'jose']);
const shape = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const longestToken = 8 * 1024;
const mostKeys = 100;
/** In seconds. */
const clockSkew = 60;
const longestLife = 48 * 3_600;

/** Loaded with the first token rather than at every start. */
const loaded = once(async () => {
  const jose = await import('jose');
  const { privateKey, publicKey } = await jose.generateKeyPair('ES256');
  const token = await new jose.SignJWT().setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
  /** Verifies a token generated here. */
  const decoy = () => jose.compactVerify(token, publicKey);
  return { jose, decoy };
});

/** The public keys of a JWKS. Throws if it is not one, or contains private or symmetric keys. */
export async function keySetOf(jwks: unknown): Promise<KeySet> {
  const keys = (jwks as JSONWebKeySet | null)?.keys;
  if (!Array.isArray(keys) || keys.length === 0) throw new TypeError('must be a JSON Web Key Set with keys');
  if (keys.length > mostKeys) throw new TypeError(`must contain at most ${mostKeys} keys`);
  if (keys.some(key => key?.kty === 'oct' || key?.d !== undefined || key?.k !== undefined))
    throw new TypeError('must contain only public keys');
  const { jose } = await loaded();
  try {
    return { find: jose.createLocalJWKSet({ keys }) };
  } catch {
    throw new TypeError('must be a JSON Web Key Set');
  }
}

/** The claims of a token, once they are proven. `keys` is null if there is no such identity; the token is then refused. */
export async function provenClaims(token: string, keys: KeySet | null, rules: TokenRules): Promise<Claims> {
  const { jose, decoy } = await loaded();
  if (keys === null || token.length > longestToken || !shape.test(token)) {
    await decoy();
    throw new TokenRefused(token.length > longestToken ? 'it is too long' : noToken);
  }
  const { payload, protectedHeader } = await jose
    .jwtVerify(token, keys.find, {
      algorithms,
      audience: rules.audience,
      ...(rules.issuer === null ? {} : { issuer: rules.issuer }),
      requiredClaims: ['exp', 'sub'],
      clockTolerance: clockSkew,
      currentDate: new Date(rules.now),
    })
    .catch(async error => {
      if (!isAfterSignature(error)) await decoy();
      throw refusalOf(error);
    });
  checkForm(payload, protectedHeader.typ, rules);
  return payload;
}

/** Checks that the library leaves to its caller. */
function checkForm({ iss, sub, iat, exp }: Claims, typ: string | undefined, rules: TokenRules): void {
  const now = rules.now / 1_000;
  if (typ !== undefined && !types.has(typ.toLowerCase().replace(/^application\//, '')))
    throw new TokenRefused('typ: it is a token of another kind');
  if (rules.issuer === null && iss !== undefined) throw new TokenRefused('iss: it is another issuer’s');
  if (typeof sub !== 'string' || sub === '') throw new TokenRefused('sub: it is missing');
  if (iat !== undefined && iat > now + clockSkew) throw new TokenRefused('iat: it is in the future');
  if (exp! > now + longestLife + clockSkew) throw new TokenRefused('exp: it is more than two days away');
}

const noToken = 'it is not a JSON Web Token';
const reasons: Readonly<Record<string, string>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: 'alg: the algorithm is not allowed',
  ERR_JOSE_NOT_SUPPORTED: 'the header is not supported',
  ERR_JWKS_NO_MATCHING_KEY: 'kid: the issuer has no such key',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'kid: the issuer has several keys, and it names none',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'the signature is not the issuer’s',
  ERR_JWT_EXPIRED: 'exp: it has expired',
};
const afterSignature = new Set([
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  'ERR_JWT_EXPIRED',
  'ERR_JWT_CLAIM_VALIDATION_FAILED',
]);

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? '';
}

function isAfterSignature(error: unknown): boolean {
  return afterSignature.has(codeOf(error));
}

function refusalOf(error: unknown): TokenRefused {
  const code = codeOf(error);
  const { claim = '', reason = '' } = error as { claim?: string; reason?: string };
  if (code === 'ERR_JWT_CLAIM_VALIDATION_FAILED')
    return new TokenRefused(
      `${claim}: it ${reason === 'missing' ? 'is missing' : 'is not the one expected'}`,
    );
  const otherwise = code.startsWith('ERR_JW') ? noToken : 'it can’t be verified by its key';
  return new TokenRefused(reasons[code] ?? otherwise, code === 'ERR_JWKS_NO_MATCHING_KEY');
}
