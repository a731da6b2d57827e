/**
 * Grants: what a person allowed a client. The person sees which client asks, and chooses a vault, what it shows and
 * for how long: never more than they may read themselves. They can see and end their grants whatever their role; the
 * resulting access keys are listed and revoked with all others.
 */
import type { Caller, Origin } from '../../access/caller.ts';
import { granted, restrictionsOf } from '../../access/oauth-scopes.ts';
import { shownByAccessKey } from '../../access/policy.ts';
import { mintToken } from '../../access/token.ts';
import { Failure } from '../../contract/errors.ts';
import { type ConsentBody, defaultGrantLife, type OAuthGrant } from '../../contract/oauth.ts';
import { iso } from '../../contract/text.ts';
import type { OAuthGrantRow } from '../../store/records/oauth-grants.ts';
import { shownBy } from '../credentials/credential.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Records } from '../resources/records.ts';
import type { SignedInAs } from '../sessions/dashboard-sessions.ts';
import type { Proofs } from '../sign-in/proofs.ts';
import type { AuthorizationRequest } from './authorization-requests.ts';
import { type ClientFacts, type GrantRecords, grantSubject, present } from './grant-records.ts';
import { refreshTokensWith } from './refresh-tokens.ts';

const second = 1_000;
const codeLife = 60 * second;
/** Per member. */
const mostGrants = 50;

export function oauthGrantsWith(
  { store, keyring, stamps, guard, now, newId }: Parts,
  { keyOf, ofToken, end, holderOf }: GrantRecords,
  proofs: Pick<Proofs, 'require'>,
  records: Records,
) {
  const tokens = refreshTokensWith(keyring);

  async function own({ person }: SignedInAs): Promise<OAuthGrantRow[]> {
    const rows = await store.oauthGrants.ofMember(person.member.id);
    return rows
      .map(stamps.oauthGrant.believe)
      .filter(row => now() < row.expires_at && row.epoch === person.account.epoch);
  }

  /** An exchanged grant with its access key, if that works or can be refreshed; otherwise the grant isn't listed. */
  async function living(row: OAuthGrantRow): Promise<OAuthGrant[]> {
    const key = await keyOf(row);
    if (key?.revoked_at !== null || (await holderOf(row)) === undefined) return [];
    return [present(row, key)];
  }

  async function checkConsent(as: SignedInAs, vaultId: string, scopes: ConsentBody['scopes'], until: number) {
    const permit = await guard.admit(as.caller, 'vaults:read');
    await records.reopenVault(permit, vaultId);
    await guard.mayShow(as.caller, shownByAccessKey(shownBy(restrictionsOf(scopes))), [vaultId]);
    // A session can be stolen, so by itself it can't grant anything that outlasts it.
    if (until > as.caller.proof.until!) await proofs.require(as);
    if ((await own(as)).length >= mostGrants)
      throw new Failure('CONFLICT', {
        message: `You can have at most ${mostGrants} clients at a time; revoke some first`,
      });
  }

  function newGrant(
    { person: { member, account } }: SignedInAs,
    { client: { id, name, known }, redirectUri, challenge, resource }: AuthorizationRequest,
    { vault_id, scopes }: ConsentBody,
    until: number,
  ) {
    const grantId = newId();
    const code = mintToken('code', grantId);
    const row = stamps.oauthGrant.create(now(), {
      id: grantId,
      organization_id: member.organization_id,
      member_id: member.id,
      epoch: account.epoch,
      access_key_id: newId(),
      vault_id,
      scope: granted(scopes).join(' '),
      client: JSON.stringify({ id, name, known } satisfies ClientFacts),
      redirect_uri: redirectUri,
      resource,
      challenge,
      code: keyring.tokenDigest(code),
      code_expires_at: now() + codeLife,
      refresh: null,
      rotations: 0,
      expires_at: until,
    });
    return { row, code };
  }

  return {
    /** Returns the code for the client. */
    approve: async (as: SignedInAs, asked: AuthorizationRequest, consent: ConsentBody): Promise<string> => {
      const until = now() + (consent.expires_in ?? defaultGrantLife) * second;
      await checkConsent(as, consent.vault_id, consent.scopes, until);
      const { row, code } = newGrant(as, asked, consent, until);
      const { scope, redirect_uri, expires_at } = row;
      const details = { scope, redirect_uri, expiration_date: iso(expires_at) };
      await guard.own(as.caller, 'oauth-grant.approved', {
        subjects: [
          { ...grantSubject(row), revision: 1, details, lasts: { until: expires_at, madeWith: [] } },
        ],
        statements: [store.oauthGrants.insert(row)],
      });
      return code;
    },

    deny: async (as: SignedInAs, { client, redirectUri }: AuthorizationRequest): Promise<void> => {
      const subject = { type: 'oauth-grant', id: newId(), name: client.name, revision: 1 };
      await guard.own(as.caller, 'oauth-grant.denied', {
        subjects: [{ ...subject, details: { redirect_uri: redirectUri } }],
        statements: [],
      });
    },

    /** The person's grants that still work. */
    list: async (as: SignedInAs): Promise<OAuthGrant[]> =>
      (await Promise.all((await own(as)).map(living))).flat(),

    revoke: (as: SignedInAs, id: string): Promise<void> =>
      retryingStale(async () => {
        const row = (await own(as)).find(one => one.id === id);
        if (row === undefined) throw new Failure('NOT_FOUND');
        await end(row, as.caller, 'revoked by its member');
      }),

    /** Ends any person's grant, for the operator. */
    endBy: (operator: Caller, id: string): Promise<void> =>
      retryingStale(async () => {
        const row = await store.oauthGrants.byId(id);
        if (row?.organization_id !== operator.organizationId) throw new Failure('NOT_FOUND');
        await end(stamps.oauthGrant.believe(row), operator, 'ended by the operator');
      }),

    /** Called with the access key or the refresh token; any other token changes nothing. */
    revokeByToken: (token: string, origin: Origin): Promise<void> =>
      retryingStale(async () => {
        const row = await ofToken(token);
        if (row === undefined || !tokens.isOf(token, row, await keyOf(row))) return;
        await end(row, origin, 'revoked by its client');
      }),
  };
}
