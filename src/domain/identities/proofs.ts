/**
 * Checks whether a machine is the identity that it claims to be: by a token from the identity's issuer, by one of its
 * secret ids, or by a client certificate from its authorities. The result is what was proven, or the reason for the
 * refusal, which is only for the log. An unknown identity, or one with another method, costs the same as a wrong
 * proof.
 */
import { hash } from 'node:crypto';
import { mintToken, parseToken } from '../../access/token.ts';
import { equalBytes } from '../../keyring/keyring.ts';
import { authoritiesIn, provenNames } from '../../material/client-certificate.ts';
import {
  type Claims,
  type KeySet,
  keySetOf,
  provenClaims,
  type TokenRefused,
} from '../../material/web-token.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { IdentityRow } from '../../store/records/identities.ts';
import { isUsable, type Restrictions } from '../credentials/credential.ts';
import type { Parts } from '../kernel/parts.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import { matchesAny, unmetClaim } from './conditions.ts';
import { type Trust, trustIn } from './identity-records.ts';
import type { Issuers } from './issuers.ts';

export type LoginProof =
  | { readonly method: 'jwt'; readonly jwt: string }
  | { readonly method: 'secret_id'; readonly secretId: string }
  /** In DER, as the TLS handshake proved it; null if none was presented. */
  | { readonly method: 'certificate'; readonly certificate: Uint8Array | null };

export interface Proven {
  /** The machine's name for itself, as people will read it. */
  readonly subject: string;
  /** For the log. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Related writes: a proof with a limited number of uses is used up with the login. */
  readonly subjects?: readonly SubjectChange[];
  readonly statements?: readonly Statement[];
  readonly touches?: readonly string[];
  /** The API keys that a secret id was created with. */
  readonly madeWith?: readonly string[] | undefined;
  readonly secretId?: string;
}

export class ProofRefused extends Error {}

const longestSubject = 200;

export function proofsWith(parts: Parts, issuers: Issuers) {
  const { store, keyring, stamps, now } = parts;
  const nobody = keyring.tokenDigest(mintToken('login', '00000000-0000-7000-8000-000000000000'));

  function refuse(reason: string): never {
    throw new ProofRefused(reason);
  }

  async function keysOf(organization: string, { issuer, jwks }: Trust): Promise<KeySet> {
    return jwks === null ? issuers.keysOf(organization, issuer!) : keySetOf(jwks);
  }

  async function claimsOf(organization: string, jwt: string, trust: Trust): Promise<Claims> {
    const { issuer, jwks, audience } = trust;
    const rules = { issuer, audience: audience!, now: now() };
    const keys = await keysOf(organization, trust);
    try {
      return await provenClaims(jwt, keys, rules);
    } catch (error) {
      const isStale = (error as TokenRefused).unknownKey && jwks === null;
      const newer = isStale ? await issuers.newKeysOf(organization, issuer!) : null;
      if (newer === null) throw error;
      return provenClaims(jwt, newer, rules);
    }
  }

  async function byToken(identity: IdentityRow, jwt: string): Promise<Proven> {
    const trust = trustIn(identity);
    const claims = await claimsOf(identity.organization_id, jwt, trust).catch(error =>
      refuse((error as Error).message),
    );
    const subject = claims.sub!;
    if (!matchesAny(trust.subjects!, subject)) refuse('sub: no pattern of the identity matches');
    const unmet = unmetClaim(trust.claims, claims);
    if (unmet !== null) refuse(`${unmet}: no pattern of the identity matches`);
    return {
      subject,
      details: { method: 'jwt', subject: subject.slice(0, longestSubject) },
      statements: trust.single_use ? spend(identity, claims) : [],
    };
  }

  /** The statement is refused as a conflict if the token was used before. */
  function spend({ id }: IdentityRow, { jti, exp }: Claims): Statement[] {
    if (typeof jti !== 'string' || jti === '') refuse('jti: it is missing');
    const mark = `login ${id} ${hash('sha256', jti, 'base64url')}`;
    // As long as a token may still be accepted, whichever clock is ahead.
    return store.accounts.spendChallenge(mark, (exp! + 120) * 1_000, now());
  }

  async function bySecretId(identity: IdentityRow | undefined, token: string): Promise<Proven> {
    const parsed = parseToken(token);
    const found = parsed?.kind === 'login' ? await store.credentials.byId(parsed.id) : undefined;
    const isIts = equalBytes(keyring.tokenDigest(token), found?.digest ?? nobody);
    if (identity === undefined || !isIts) refuse('the secret id is unknown');
    const row = stamps.credential.believe(found!);
    if (row.identity_id !== identity.id) refuse('the secret id belongs to another identity');
    if (!isUsable(row, now())) refuse('the secret id was revoked or has expired');
    if (row.max_uses !== null && row.uses >= row.max_uses) refuse('the secret id is used up');
    const { made_with: madeWith } = JSON.parse(row.narrowing) as Restrictions;
    const details = { method: 'secret_id', secret_id: row.id };
    return { subject: row.name, details, madeWith, secretId: row.id, ...used(row) };
  }

  /** Each counted use is a revision of the record, so uses can't be undone. */
  function used(row: CredentialRow): Pick<Proven, 'subjects' | 'statements' | 'touches'> {
    const noted = store.credentials.usedAt(row.id, now());
    if (row.max_uses === null) return { statements: [noted] };
    const { id, name } = row;
    const after = stamps.credential.stamp({ ...row, uses: row.uses + 1, revision: row.revision + 1 });
    const { uses, revision } = after;
    return {
      subjects: [{ type: row.kind, id, name, revision, verb: 'secret-id.used', details: { uses } }],
      statements: [store.credentials.update(after), noted],
      touches: [id],
    };
  }

  function byCertificate(identity: IdentityRow, certificate: Uint8Array | null): Proven {
    if (certificate === null) refuse('no client certificate was sent');
    const { ca_pem, subjects } = trustIn(identity);
    const names = provenNames(certificate, authoritiesIn(ca_pem!), now());
    if (names === null)
      refuse('the client certificate is not from one of the identity’s authorities, or is not valid');
    if (!names.some(name => matchesAny(subjects!, name)))
      refuse('no pattern of the identity matches the certificate’s names');
    const subject = names[0]!;
    return { subject, details: { method: 'certificate', subject: subject.slice(0, longestSubject) } };
  }

  return async (found: IdentityRow | undefined, proof: LoginProof): Promise<Proven> => {
    const identity = found?.method === proof.method ? found : undefined;
    if (proof.method === 'secret_id') return bySecretId(identity, proof.secretId);
    if (identity !== undefined)
      return proof.method === 'jwt'
        ? byToken(identity, proof.jwt)
        : byCertificate(identity, proof.certificate);
    if (proof.method === 'jwt') await provenClaims(proof.jwt, null, nobodysRules).catch(() => {});
    return refuse(
      found === undefined ? 'there is no such identity' : 'the identity uses another login method',
    );
  };
}

const nobodysRules = { issuer: null, audience: '', now: 0 };
