/**
 * Checks whether a caller may still act. The caller is identified when a request begins, but that decision is valid
 * later only if the rows that it rests on are unchanged. So they are a condition of the transaction that stores a
 * change. If they did change, they are read and checked again: if the caller still has exactly the same permissions
 * (after a rename, or a code used elsewhere), the change goes on; otherwise the authority is gone.
 */
import {
  type Caller,
  type Origin,
  type Proof,
  type ProvenBy,
  type Reader,
  readerSeesKind,
  readerSeesName,
} from '../access/caller.ts';
import { earliest, type Grant, grantOfRole, nextEnd } from '../access/policy.ts';
import type { DashboardSessionRow } from '../store/records/accounts.ts';
import { faultSince, type GroundLookup, readerNow } from './credentials/access-key-grounds.ts';
import { callerOf as keyCaller, makerOf } from './credentials/api-key-callers.ts';
import { credentialOf, isUsable } from './credentials/credential.ts';
import { rightsProvenBy } from './credentials/member-rights.ts';
import type { Author, Authority } from './kernel/guard.ts';
import type { Parts } from './kernel/parts.ts';
import { type People, callerOf as personCaller } from './people/people.ts';
import { isSignedIn, proofOf } from './sessions/dashboard-sessions.ts';

export interface AuthorityParts extends Pick<Parts, 'store' | 'stamps' | 'now'> {
  readonly people: People;
}

export function authorityWith({ store, stamps, people, now }: AuthorityParts): Authority {
  const fresh: GroundLookup = {
    key: async id => {
      const found = await store.credentials.byId(id);
      return found && credentialOf(stamps.credential.believe(found));
    },
    member: key => makerOf({ store, stamps }, key),
    holder: people.fresh,
    identity: async id => {
      const found = await store.identities.anywhere(id);
      return found && stamps.identity.believe(found);
    },
    now,
  };

  /** Notes every row that a decision rests on. */
  function noting(rows: ProvenBy[]): GroundLookup {
    const noted = (table: ProvenBy['table'], { id, revision }: Pick<ProvenBy, 'id' | 'revision'>) =>
      rows.push({ table, id, revision });
    return {
      ...fresh,
      key: async id => {
        const key = await fresh.key(id);
        if (key !== undefined) noted('credentials', key.row);
        return key;
      },
      holder: async id => {
        const holder = await fresh.holder(id);
        if (holder !== undefined) {
          rows.push(...rightsProvenBy(holder));
          noted('accounts', holder.account);
        }
        return holder;
      },
      identity: async id => {
        const identity = await fresh.identity(id);
        if (identity !== undefined) noted('identities', identity);
        return identity;
      },
    };
  }

  /** A person without a session: only what they are allowed counts. */
  async function asPerson(id: string, origin: Origin): Promise<Caller | null> {
    const person = await people.fresh(id);
    if (person?.member.state !== 'active') return null;
    return personCaller(person, origin, { rows: rightsProvenBy(person), until: null }, now());
  }

  /** An access key that could still use the secret, or hold the credential. It has no permissions of its own. */
  async function asAccessKey(author: Author, origin: Origin): Promise<Caller | null> {
    const { id } = author;
    const rows: ProvenBy[] = [];
    const look = noting(rows);
    const key = await look.key(id);
    if (key === undefined || !isUsable(key.row, now()) || (await faultSince(look, key)) !== null) return null;
    const reader = await readerNow(look, key, ({ row }) => isUsable(row, now()));
    if (reader === null || !stillMay(reader, author)) return null;
    const { name, organization_id: organizationId, expiration_date: until } = key.row;
    const nothing = { ...grantOfRole('none'), until };
    return { ...nothing, kind: 'service', id, name, organizationId, origin, proof: { rows, until } };
  }

  async function asKey({ id, origin }: Pick<Caller, 'id' | 'origin'>): Promise<Caller | null> {
    const key = await fresh.key(id);
    return key !== undefined && isUsable(key.row, now()) ? keyCaller(fresh, key, origin) : null;
  }

  async function asMember({ id, origin, proof }: Caller): Promise<Caller | null> {
    const session = await believedSession(proof);
    const person = await people.fresh(id);
    if (session === null || person === undefined) return null;
    if (!isSignedIn(session, person, now())) return null;
    return personCaller(person, origin, proofOf(session, person), now());
  }

  async function believedSession({ rows }: Proof): Promise<DashboardSessionRow | null> {
    const proven = rows.find(({ table }) => table === 'sessions');
    const found = proven && (await store.accounts.session(proven.id));
    return found === undefined ? null : stamps.session.believe(found);
  }

  return {
    conditions: ({ proof }, unless) => {
      const isFirst = ({ table }: ProvenBy, at: number) =>
        proof.rows.findIndex(row => row.table === table) === at && table !== 'member_groups';
      const others = proof.rows.filter((row, at) => !isFirst(row, at));
      const firsts = proof.rows.filter(isFirst);
      const together = [...(firsts.length === 0 ? [] : [firsts]), ...others.map(row => [row])];
      return together.map(rows => store.conditions.unchanged(rows, unless));
    },

    again: (author, origin) => {
      const { kind, id } = author;
      if (kind === 'member') return asPerson(id, origin);
      return kind === 'api-key' ? asKey({ id, origin }) : asAccessKey(author, origin);
    },

    // A role in a vault that ends takes a part of the permissions with it.
    isOver: caller => {
      const end = earliest(caller.proof.until, nextEnd(caller));
      return end !== null && now() >= end;
    },

    renewed: async caller => {
      if (caller.proof.rows.length === 0) return null;
      const found = await (caller.kind === 'api-key' ? asKey(caller) : asMember(caller));
      return found !== null && grantText(found) === grantText(caller) ? found : null;
    },
  };
}

/**
 * A credential is as good as a secret that has the issuer's name, and a profile as good as a certificate that has its own.
 */
function stillMay(reader: Reader, { uses, holds, certifies }: Author): boolean {
  if (certifies !== undefined)
    return !reader.namesOnly && readerSeesKind(reader, 'certificate') && readerSeesName(reader, certifies);
  const isGiven = holds === undefined ? reader.mayUse : !reader.namesOnly;
  return isGiven && readerSeesKind(reader, 'secret') && readerSeesName(reader, (holds ?? uses)!);
}

/** The same text for callers with the same permissions. */
function grantText(caller: Caller): string {
  return JSON.stringify([caller.organizationId, partsOf(caller)]);
}

function partsOf({ role, vaultRoles, scopes, vaultIds, until, within }: Grant): unknown[] {
  return [role, [...vaultRoles], scopes, vaultIds, until, within && partsOf(within)];
}
