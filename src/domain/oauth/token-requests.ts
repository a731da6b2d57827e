/**
 * Exchanges codes and refresh tokens. A code can be used once, within a minute, and only with the client, redirect
 * URI and verifier of its request. It yields an access key for one vault that is valid for an hour, and a refresh
 * token that can be used once. A code or refresh token that is used again ends the grant: one of its two holders must
 * be an attacker. Only the refresh token that directly precedes the newest is answered again for a few seconds, with
 * the same tokens: the response may have been lost, or two processes of one client refreshed at the same time. All
 * refusals look the same from outside and count against the address; the reason is in the audit log.
 */
import { type Origin, unstored } from '../../access/caller.ts';
import { restrictionsOf, scopesIn } from '../../access/oauth-scopes.ts';
import { mintToken } from '../../access/token.ts';
import { Failure } from '../../contract/errors.ts';
import { OAuthError } from '../../contract/oauth.ts';
import { equalBytes } from '../../keyring/keyring.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { OAuthGrantRow } from '../../store/records/oauth-grants.ts';
import { credentialKinds } from '../credentials/credential.ts';
import { accessKeyEvent, newCredentialWith, subjectOf } from '../credentials/credential-changes.ts';
import { lifeOf } from '../credentials/credential-records.ts';
import { restrictionKeysWith } from '../credentials/restriction-keys.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import { MinuteCounter } from '../kernel/minute-counter.ts';
import type { Parts } from '../kernel/parts.ts';
import { callerOf, type Person } from '../people/people.ts';
import { clientIn, type GrantRecords, grantSubject, loginOf } from './grant-records.ts';
import { isChallengeOf, refreshTokensWith } from './refresh-tokens.ts';

/** The parameters of a token request, with the code or the refresh token. */
export interface TokenRequest {
  readonly token: string;
  readonly clientId: string | null;
  readonly resource: string;
}

export interface CodeRequest extends TokenRequest {
  readonly redirectUri: string | null;
  readonly verifier: string;
}

export interface Issued {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** In seconds. */
  readonly lifetime: number;
  readonly scope: string;
}

const second = 1_000;
const accessLife = 3_600 * second;
/** How long a refresh is answered again with the same tokens, while the newest refresh token is unused. */
const repeatedFor = 30 * second;
/** Refreshes of one grant per minute. */
const mostRefreshes = 30;
const kind = credentialKinds.vault;

export function tokenRequestsWith(
  parts: Parts,
  attempts: MinuteCounter,
  { find, keyOf, end, holderOf }: GrantRecords,
) {
  const { store, keyring, stamps, guard, now } = parts;
  const tokens = refreshTokensWith(keyring);
  const newRow = newCredentialWith(parts);
  const restrictionKeys = restrictionKeysWith(parts);
  const refreshed = new MinuteCounter(now, mostRefreshes);
  const nobody = keyring.tokenDigest(mintToken('code', '00000000-0000-7000-8000-000000000000'));

  /** The response is always the same; the reason is in the audit log. */
  async function refuse(row: OAuthGrantRow | undefined, origin: Origin, reason: string): Promise<never> {
    const wait = attempts.blockedFor(origin.address);
    attempts.add(origin.address);
    if (wait !== 0) throw new Failure('RATE_LIMITED', { retryAfter: wait });
    const claimed =
      row === undefined ? null : { organizationId: row.organization_id, subject: grantSubject(row) };
    await guard.unproven(origin, 'oauth-grant.refused', claimed, reason);
    throw new OAuthError('invalid_grant', 'the code or refresh token is not valid for this request');
  }

  function isFor(row: OAuthGrantRow, { clientId, resource }: TokenRequest): boolean {
    return (clientId === null || clientId === clientIn(row).id) && resource === row.resource;
  }

  function keyEnd(row: OAuthGrantRow, at: number): number {
    return Math.min(at + accessLife, row.expires_at);
  }

  async function newKey(row: OAuthGrantRow, person: Person, token: string): Promise<CredentialRow> {
    const narrowing = {
      ...restrictionsOf(scopesIn(row.scope)),
      login: loginOf(row),
      grant: row.id,
    };
    const maker = { id: row.member_id, organizationId: row.organization_id };
    const name = `${clientIn(row).name} for ${person.member.email}`;
    const at = now();
    const wanted = { name, vaultId: row.vault_id, narrowing, expirationDate: keyEnd(row, at) };
    return newRow('vault', maker, row.access_key_id, token, wanted, at);
  }

  const lifetimeOf = ({ expiration_date }: CredentialRow, at: number) =>
    Math.floor((expiration_date! - at) / second);

  async function exchangeOnce(request: CodeRequest, origin: Origin): Promise<Issued> {
    const row = await find(request.token, 'code');
    const isIts = equalBytes(keyring.tokenDigest(request.token), row?.code ?? nobody);
    if (row === undefined || !isIts) return refuse(undefined, origin, 'unknown code');
    if (row.refresh !== null) {
      await end(row, origin, 'its code was used twice');
      return refuse(row, origin, 'the code was used before');
    }
    if (now() >= row.code_expires_at) return refuse(row, origin, 'the code has expired');
    if (!isFor(row, request) || request.redirectUri !== row.redirect_uri)
      return refuse(row, origin, 'the code was issued for another request');
    if (!isChallengeOf(request.verifier, row.challenge))
      return refuse(row, origin, 'the verifier does not match the code');
    const person = await holderOf(row);
    if (person === undefined) return refuse(row, origin, 'the member may no longer grant it');
    const accessToken = mintToken('vault', row.access_key_id);
    const refreshToken = mintToken('refresh', row.id);
    const key = await newKey(row, person, accessToken);
    const next = stamps.oauthGrant.revise(row, { refresh: keyring.tokenDigest(refreshToken) }, now());
    await guard.own(callerOf(person, origin, unstored, now()), 'oauth-grant.exchanged', {
      subjects: [
        { ...grantSubject(next), revision: next.revision },
        {
          ...subjectOf(key, kind),
          verb: 'access-key.created',
          details: { method: 'oauth' },
          lasts: lifeOf(key),
        },
      ],
      statements: [
        store.conditions.proves(person.member, row.epoch),
        store.oauthGrants.update(next),
        store.credentials.insert(key),
        accessKeyEvent(parts, 'access_key.created', key),
      ],
      touches: [key.id],
    });
    return { accessToken, refreshToken, lifetime: lifetimeOf(key, key.updated_at), scope: row.scope };
  }

  async function refreshOnce(request: TokenRequest, origin: Origin): Promise<Issued> {
    const { token } = request;
    const row = await find(token, 'refresh');
    if (row === undefined || row.refresh === null) return refuse(undefined, origin, 'unknown refresh token');
    const isNewest = equalBytes(keyring.tokenDigest(token), row.refresh);
    const isRepeated = now() < row.updated_at + repeatedFor && tokens.isPreceding(token, row);
    if (!isNewest && !isRepeated) return refuseUsed(row, token, origin);
    if (now() >= row.expires_at) return refuse(row, origin, 'the grant has ended');
    if (!isFor(row, request)) return refuse(row, origin, 'the refresh token was issued for another request');
    refreshed.take(row.id);
    return renew(row, token, origin, isRepeated);
  }

  /** A used token ends the grant, an invented one doesn't; telling them apart is work that a guesser doesn't get. */
  async function refuseUsed(row: OAuthGrantRow, token: string, origin: Origin): Promise<never> {
    const isUsed = attempts.blockedFor(origin.address) === 0 && tokens.isEarlier(token, row);
    if (!isUsed) return refuse(row, origin, 'unknown refresh token');
    await end(row, origin, 'a refresh token was used twice');
    return refuse(row, origin, 'the refresh token was used before');
  }

  async function renew(row: OAuthGrantRow, token: string, origin: Origin, isRepeated: boolean) {
    const [person, before] = [await holderOf(row), await keyOf(row)];
    if (person === undefined || before === undefined || before.revoked_at !== null) {
      await end(row, origin, 'its access key was revoked, or its member may no longer grant it');
      return refuse(row, origin, 'the grant has ended');
    }
    const { access, next } = tokens.after(token, row);
    const { changed, key } = isRepeated
      ? { changed: row, key: before }
      : await renewed(row, before, access, next);
    await guard.own(callerOf(person, origin, unstored, now()), 'oauth-grant.refreshed', {
      subjects: [
        { ...grantSubject(changed), revision: changed.revision, details: { repeated: isRepeated } },
        ...(isRepeated
          ? []
          : [{ ...subjectOf(key, kind), verb: 'access-key.updated' as const, lasts: lifeOf(key) }]),
      ],
      statements: [
        store.conditions.proves(person.member, row.epoch),
        ...(isRepeated ? [] : [store.oauthGrants.update(changed), store.credentials.update(key)]),
      ],
      touches: [key.id],
    });
    const lifetime = lifetimeOf(key, isRepeated ? now() : key.updated_at);
    return { accessToken: access, refreshToken: next, lifetime, scope: row.scope };
  }

  async function renewed(row: OAuthGrantRow, before: CredentialRow, access: string, next: string) {
    const digest = keyring.tokenDigest(access);
    const narrowing_key = await restrictionKeys.sealed({ ...before, digest }, access);
    const at = now();
    const columns = { digest, narrowing_key, expiration_date: keyEnd(row, at) };
    const rotated = { refresh: keyring.tokenDigest(next), rotations: row.rotations + 1 };
    return {
      key: stamps.credential.revise(before, columns, at),
      changed: stamps.oauthGrant.revise(row, rotated, at),
    };
  }

  return {
    /** Both throw an `OAuthError`. */
    exchange: (request: CodeRequest, origin: Origin): Promise<Issued> =>
      retryingStale(() => exchangeOnce(request, origin)),

    refresh: (request: TokenRequest, origin: Origin): Promise<Issued> =>
      retryingStale(() => refreshOnce(request, origin)),
  };
}
