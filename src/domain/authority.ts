/**
 * Checks whether a caller may still act. The caller is identified when a request begins, but that decision is valid
 * later only if the rows that it rests on are unchanged. So they are a condition of the transaction that stores a
 * change. If they did change, they are read and checked again: if the caller still has exactly the same permissions
 * (after a rename, or a code used elsewhere), the change goes on; otherwise the authority is gone.
 */
import type { Caller, Proof, ProvenBy } from '../access/caller.ts';
import { earliest, type Grant, nextEnd } from '../access/policy.ts';
import type { DashboardSessionRow } from '../store/records/accounts.ts';
import { type KeyLookup, callerOf as keyCaller, makerOf } from './credentials/api-key-callers.ts';
import { credentialOf, isUsable } from './credentials/credential.ts';
import type { Authority } from './kernel/guard.ts';
import type { Parts } from './kernel/parts.ts';
import { type People, callerOf as personCaller } from './people/people.ts';
import { isSignedIn, proofOf } from './sessions/dashboard-sessions.ts';

export interface AuthorityParts extends Pick<Parts, 'store' | 'stamps' | 'now'> {
  readonly people: People;
}

export function authorityWith({ store, stamps, people, now }: AuthorityParts): Authority {
  const fresh: KeyLookup = {
    key: async id => {
      const found = await store.credentials.byId(id);
      return found && credentialOf(stamps.credential.believe(found));
    },
    member: key => makerOf({ store, stamps }, key),
    holder: people.fresh,
    now,
  };

  async function asKey({ id, origin }: Caller): Promise<Caller | null> {
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
    conditions: ({ proof }) => {
      const isFirst = ({ table }: ProvenBy, at: number) =>
        proof.rows.findIndex(row => row.table === table) === at && table !== 'member_groups';
      const others = proof.rows.filter((row, at) => !isFirst(row, at));
      const firsts = proof.rows.filter(isFirst);
      const together = [...(firsts.length === 0 ? [] : [firsts]), ...others.map(row => [row])];
      return together.map(rows => store.conditions.unchanged(rows));
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

/** The same text for callers with the same permissions. */
function grantText(caller: Caller): string {
  return JSON.stringify([caller.organizationId, partsOf(caller)]);
}

function partsOf({ role, vaultRoles, scopes, vaultIds, until, within }: Grant): unknown[] {
  return [role, [...vaultRoles], scopes, vaultIds, until, within && partsOf(within)];
}
