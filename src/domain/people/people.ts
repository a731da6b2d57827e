/**
 * A person: a member together with their account and the groups that they are in. The rows are verified and cached
 * together; a change to any of them touches the member's id, so a role, a group or a removal takes effect
 * immediately.
 */
import type { Caller, Origin, Proof } from '../../access/caller.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { AccountRow, PasskeyRow } from '../../store/records/accounts.ts';
import type { MemberGroupRow } from '../../store/records/member-groups.ts';
import type { MemberRow } from '../../store/records/organizations.ts';
import { type Holder, isIn, rightsOf } from '../credentials/member-rights.ts';
import type { Parts } from '../kernel/parts.ts';
import { RowCache } from '../kernel/row-cache.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import { emailKey, sameAddress } from './email.ts';

export type Person = Holder;

export type People = ReturnType<typeof peopleWith>;

const mostKept = 5_000;
const nobody = '00000000-0000-7000-8000-000000000000';

export function peopleWith({ store, stamps }: Pick<Parts, 'store' | 'stamps'>) {
  const kept = new RowCache<Person>(store, mostKept);

  async function withAccount(member: MemberRow): Promise<Person | undefined> {
    const account = await store.accounts.accountOf(member.id);
    if (account === undefined) return undefined;
    const groups = await groupsOf({ store, stamps }, member);
    return { member, account: stamps.account.believe(account), groups };
  }

  /** From the store, for callers about to change it. */
  async function fresh(memberId: string): Promise<Person | undefined> {
    const member = await store.accounts.member(memberId);
    return member && withAccount(stamps.member.believe(member));
  }

  return {
    fresh,
    /** From the cache if it can be trusted. */
    byMember: async (memberId: string): Promise<Person | undefined> =>
      kept.get(memberId) ?? kept.load(memberId, () => fresh(memberId)),

    byAccount: async (accountId: string): Promise<Person | undefined> => {
      const account = await store.accounts.account(accountId);
      return account && fresh(stamps.account.believe(account).member_id);
    },

    /** Everyone with exactly this address, in any organization. */
    byEmail: async (email: string): Promise<Person[]> => {
      const alike = await store.accounts.membersByEmail(emailKey(email));
      const members = alike.filter(member => sameAddress(member.email, email));
      // Makes the same queries as for a known person.
      if (members.length === 0) {
        await store.accounts.accountOf(nobody);
        await store.memberGroups.naming(nobody, nobody);
      }
      const people = members.map(member => withAccount(stamps.member.believe(member)));
      return (await Promise.all(people)).filter(person => person !== undefined);
    },

    /** All accounts that this person of the issuer has signed in to before. */
    byIdentity: async (issuer: string, subject: string): Promise<Person[]> => {
      const accounts = await store.accounts.accountsOfIdentity(issuer, subject);
      const people = accounts.map(account => fresh(stamps.account.believe(account).member_id));
      return (await Promise.all(people)).filter(person => person !== undefined);
    },
  };
}

export async function groupsOf(
  { store, stamps }: Pick<Parts, 'store' | 'stamps'>,
  { id, organization_id }: Pick<MemberRow, 'id' | 'organization_id'>,
): Promise<MemberGroupRow[]> {
  const rows = await store.memberGroups.naming(organization_id, id);
  return rows.map(stamps.memberGroup.believe).filter(group => isIn(group, id));
}

export function callerOf(person: Person, origin: Origin, proof: Proof, now: number): Caller {
  const { id, email: name, organization_id: organizationId } = person.member;
  return { ...rightsOf(person, now), kind: 'member', id, name, organizationId, origin, proof };
}

export function passkeySubject({ id, name, revision }: PasskeyRow, verb: AuditAction): SubjectChange {
  return { type: 'passkey', id, name, revision, verb };
}

export function memberSubject(member: MemberRow): SubjectChange {
  return { type: 'member', id: member.id, name: member.email, revision: member.revision };
}

export function accountSubject(account: AccountRow, email: string, verb?: AuditAction): SubjectChange {
  const subject = { type: 'account', id: account.id, name: email, revision: account.revision };
  return verb === undefined ? subject : { ...subject, verb };
}
