/**
 * Refresh tokens: each is derived from the previous one with a key that only the service has. So an earlier token can
 * be distinguished from an invented one without storing any: following the chain from it leads to the newest.
 */
import { createHash } from 'node:crypto';
import { mintToken, parseToken } from '../../access/token.ts';
import { equalBytes, type Keyring } from '../../keyring/keyring.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { OAuthGrantRow } from '../../store/records/oauth-grants.ts';

/** How many steps back an earlier token is recognized. */
const longestChain = 1_000;
const verifierForm = /^[\w.~-]{43,128}$/;

export function refreshTokensWith(keyring: Keyring) {
  /** Tokens have no spaces, so these digests can't be those of a token. */
  const secretOf = (purpose: string, token: string) => () => keyring.tokenDigest(`${purpose} ${token}`);
  const nextOf = (token: string, { id }: OAuthGrantRow) =>
    mintToken('refresh', id, secretOf('refresh after', token));

  function isEarlier(token: string, row: OAuthGrantRow): boolean {
    let following = token;
    for (let steps = Math.min(row.rotations, longestChain); steps > 0; steps--) {
      following = nextOf(following, row);
      if (equalBytes(keyring.tokenDigest(following), row.refresh!)) return true;
    }
    return false;
  }

  return {
    isEarlier,

    /** Whether the newest was derived from this one. */
    isPreceding: (token: string, row: OAuthGrantRow): boolean =>
      equalBytes(keyring.tokenDigest(nextOf(token, row)), row.refresh!),

    after: (token: string, row: OAuthGrantRow) => ({
      access: mintToken('vault', row.access_key_id, secretOf('access after', token)),
      next: nextOf(token, row),
    }),

    /** Whether the token is the newest refresh token or access key of the grant. */
    isOf: (token: string, row: OAuthGrantRow, key: CredentialRow | undefined): boolean => {
      const digest = parseToken(token)?.kind === 'refresh' ? row.refresh : key?.digest;
      return digest != null && equalBytes(keyring.tokenDigest(token), digest);
    },
  };
}

/** The only method of RFC 7636 that is accepted. */
export function isChallengeOf(verifier: string, challenge: string): boolean {
  if (!verifierForm.test(verifier)) return false;
  return createHash('sha256').update(verifier).digest('base64url') === challenge;
}
