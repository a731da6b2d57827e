/**
 * Stored grants: looked up, verified, and ended together with their access key. A grant is valid as long as its
 * member's account has the same epoch as when they allowed it, and they could still read everything that it shows.
 */
import type { Caller, Origin } from '../../access/caller.ts';
import { restrictionsOf, scopesIn } from '../../access/oauth-scopes.ts';
import { parseToken } from '../../access/token.ts';
import type { OAuthGrant } from '../../contract/oauth.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { OAuthGrantRow } from '../../store/records/oauth-grants.ts';
import { mayLend } from '../credentials/api-key-callers.ts';
import { credentialKinds, type Restrictions } from '../credentials/credential.ts';
import { accessKeyEvent, subjectOf } from '../credentials/credential-changes.ts';
import type { Parts } from '../kernel/parts.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import type { People, Person } from '../people/people.ts';

/** The stored facts about a client, which may be unknown by the time its grant is looked at. */
export interface ClientFacts {
  readonly id: string;
  readonly name: string;
  readonly known: boolean;
}

export type GrantRecords = ReturnType<typeof grantRecordsWith>;

const kind = credentialKinds.vault;

export function grantRecordsWith(parts: Parts, people: People) {
  const { store, stamps, guard, now } = parts;

  async function find(token: string, expected: 'code' | 'refresh'): Promise<OAuthGrantRow | undefined> {
    const parsed = parseToken(token);
    const row = parsed?.kind === expected ? await store.oauthGrants.byId(parsed.id) : undefined;
    return row && stamps.oauthGrant.believe(row);
  }

  async function keyOf({ access_key_id }: OAuthGrantRow): Promise<CredentialRow | undefined> {
    const row = await store.credentials.byId(access_key_id);
    return row && stamps.credential.believe(row);
  }

  /** The grant that a refresh token or an access key names; the token is not verified yet. */
  async function ofToken(token: string): Promise<OAuthGrantRow | undefined> {
    const parsed = parseToken(token);
    if (parsed?.kind !== 'vault') return find(token, 'refresh');
    const key = await store.credentials.byId(parsed.id);
    const { grant } = JSON.parse(key?.narrowing ?? '{}') as Restrictions;
    const row = grant === undefined ? undefined : await store.oauthGrants.byId(grant);
    return row && stamps.oauthGrant.believe(row);
  }

  async function end(row: OAuthGrantRow, by: Caller | Origin, reason: string): Promise<void> {
    const key = await keyOf(row);
    const isLiving = key !== undefined && key.revoked_at === null;
    const revoked = isLiving ? stamps.credential.revise(key, { revoked_at: now() }, now()) : null;
    const change = {
      subjects: [
        { ...grantSubject(row), revision: row.revision + 1, details: { reason } },
        ...(revoked ? [{ ...subjectOf(revoked, kind), verb: 'access-key.revoked' }] : []),
      ] as [SubjectChange, ...SubjectChange[]],
      statements: [
        store.oauthGrants.remove(row.id, row.revision),
        ...(revoked
          ? [store.credentials.update(revoked), accessKeyEvent(parts, 'access_key.revoked', revoked)]
          : []),
      ],
      touches: [row.access_key_id],
    };
    if ('kind' in by) await guard.own(by, 'oauth-grant.ended', change);
    else await guard.used(actorOf(row, by), 'oauth-grant.ended', change);
  }

  async function holderOf(row: OAuthGrantRow): Promise<Person | undefined> {
    const person = await people.fresh(row.member_id);
    const isTheirs =
      person && mayLend(loginOf(row), person, row.vault_id, restrictionsOf(scopesIn(row.scope)), now());
    return isTheirs ? person : undefined;
  }

  return { find, keyOf, ofToken, end, holderOf };
}

export function clientIn({ client }: OAuthGrantRow): ClientFacts {
  return JSON.parse(client) as ClientFacts;
}

export function loginOf({ member_id, epoch }: OAuthGrantRow) {
  return { member_id, epoch };
}

export function grantSubject(row: OAuthGrantRow) {
  return { type: 'oauth-grant', id: row.id, name: clientIn(row).name, vaultId: row.vault_id };
}

/** The bearer of the token: the client, acting for its member. */
function actorOf(row: OAuthGrantRow, origin: Origin) {
  const { name } = clientIn(row);
  return { kind: 'oauth-client', id: row.id, name, organizationId: row.organization_id, origin };
}

export function present(row: OAuthGrantRow, key: CredentialRow): OAuthGrant {
  return {
    id: row.id,
    client: clientIn(row),
    vault_id: row.vault_id,
    access_key_id: row.access_key_id,
    scopes: scopesIn(row.scope),
    created_at: iso(row.created_at),
    expiration_date: iso(row.expires_at),
    last_used_at: isoOrNull(key.last_used_at),
  };
}
