/**
 * Maps an identity confirmed by the single sign-on issuer to a person. An account is bound to the issuer's identifier
 * for the person (`iss` and `sub`) when they first sign in through it, and from then on belongs only to them,
 * whatever email address the issuer reports. Before that, it is found by a verified email address, if that is exactly
 * the same. An invitation planted by someone else can't draw a person into an organization: a single account of their
 * own is signed in directly, but an invitation or a choice between several accounts requires the person's decision.
 * Every refusal looks the same from outside; the reason is in the audit log of the organization concerned.
 */
import type { Origin } from '../../access/caller.ts';
import type { Choice } from '../../contract/auth.ts';
import { Failure } from '../../contract/errors.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { AccountRow } from '../../store/records/accounts.ts';
import type { MemberGroupRow } from '../../store/records/member-groups.ts';
import { signedOnIdsIn } from '../credentials/member-rights.ts';
import { retryingStale, StaleChange } from '../kernel/conflict-retries.ts';
import { groupChange } from '../people/groups.ts';
import { accountSubject, memberSubject, type Person } from '../people/people.ts';
import type { RelatedWrites } from '../sessions/dashboard-sessions.ts';
import type { SignInParts } from './sign-in.ts';

export interface SignOnIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly groups: readonly string[];
}

/** What the browser keeps while the person chooses. It can be used once. */
export interface KeptIdentity {
  readonly identity: SignOnIdentity;
  readonly id: string;
  readonly expires: number;
}

export type Identities = ReturnType<typeof identitiesWith>;

interface Obstacle {
  readonly person: Person;
  readonly reason: string;
}

export function identitiesWith(parts: SignInParts) {
  const { store, stamps, guard, now, people, sessions, lockOut } = parts;

  const isBound = ({ account }: Person) => account.oidc_subject !== null;

  function obstacle({ emailVerified }: SignOnIdentity, { member, account }: Person): string | null {
    if (!emailVerified) return 'the issuer does not report the address as verified';
    if (account.oidc_subject !== null) return 'the account is bound to another person at the issuer';
    if (member.state === 'active') return null;
    return now() < Number(account.invitation_expires) ? null : 'the invitation has expired';
  }

  /** The accounts that the person may sign in to, and those that they may not. */
  async function find(identity: SignOnIdentity) {
    const own = await people.byIdentity(identity.issuer, identity.subject);
    const bound = own.filter(({ member }) => member.state === 'active');
    const named = identity.email === null ? [] : await people.byEmail(identity.email);
    const others = named
      .filter(({ member }) => !bound.some(person => person.member.id === member.id))
      .map(person => ({ person, reason: obstacle(identity, person) }));
    return {
      open: [...bound, ...others.filter(({ reason }) => reason === null).map(({ person }) => person)],
      closed: others.filter((other): other is Obstacle => other.reason !== null),
    };
  }

  async function refuse(origin: Origin, closed: readonly Obstacle[], otherwise: string): Promise<never> {
    lockOut.failed(origin);
    if (closed.length === 0) await guard.unproven(origin, 'session.refused', null, otherwise);
    for (const { person, reason } of closed) {
      const { member } = person;
      const claimed = { organizationId: member.organization_id, subject: memberSubject(member) };
      await guard.unproven(origin, 'session.refused', claimed, reason);
    }
    const why = closed.length === 0 ? otherwise : closed.map(({ reason }) => reason).join('; ');
    throw new Failure('UNAUTHORIZED', { cause: new Error(`single sign-on was refused: ${why}`) });
  }

  /** The person after sign-in: bound to the identity, and a member if they were invited. */
  function admitted(
    { issuer, subject }: SignOnIdentity,
    { member, account, groups }: Person,
  ): [Person, RelatedWrites] {
    const columns: Partial<AccountRow> = { oidc_issuer: issuer, oidc_subject: subject };
    if (member.state === 'active') {
      const after = stamps.account.revise(account, columns, now());
      const subjects = [accountSubject(after, member.email, 'account.identity_bound')];
      const statements = [store.accounts.updateAccount(after)];
      return [
        { member, account: after, groups },
        { subjects, statements, touches: [member.id] },
      ];
    }
    const active = stamps.member.revise(member, { state: 'active' }, now());
    const opened = { ...columns, invitation: null, invitation_expires: null };
    const after = stamps.account.revise(account, opened, now());
    return [
      { member: active, account: after, groups },
      {
        subjects: [
          { ...memberSubject(active), verb: 'member.joined' },
          accountSubject(after, active.email, 'account.opened'),
        ],
        statements: [store.organizations.updateMember(active), store.accounts.updateAccount(after)],
        touches: [member.id],
      },
    ];
  }

  /** Puts the person into the issuer's groups and out of others, as they sign in. */
  async function regrouped({ groups }: SignOnIdentity, { member }: Person): Promise<Required<RelatedWrites>> {
    const changed = (await signedOnGroups(member.organization_id)).flatMap(group => {
      const before = signedOnIdsIn(group);
      if (before.includes(member.id) === groups.includes(group.name)) return [];
      const others = before.filter(id => id !== member.id);
      const ids = groups.includes(group.name) ? [...others, member.id] : others;
      return stamps.memberGroup.revise(group, { signed_on_ids: JSON.stringify(ids) }, now());
    });
    return {
      subjects: changed.map(group => ({
        ...groupChange<never>(group, now()),
        verb: 'group.updated' as const,
      })),
      statements: changed.map(store.memberGroups.update),
      touches: [member.id, ...changed.map(({ id }) => id)],
    };
  }

  async function signedOnGroups(organizationId: string): Promise<MemberGroupRow[]> {
    const rows = await store.memberGroups.all(organizationId);
    return rows.map(stamps.memberGroup.believe).filter(({ single_sign_on }) => single_sign_on === 1);
  }

  async function start(
    identity: SignOnIdentity,
    found: Person,
    origin: Origin,
    once: readonly Statement[] = [],
  ): Promise<string> {
    const [person, related] = isBound(found) ? [found, {} as RelatedWrites] : admitted(identity, found);
    const grouped = await regrouped(identity, found);
    return sessions.start(person, 'oidc', origin, {
      subjects: [...(related.subjects ?? []), ...grouped.subjects],
      statements: [...once, ...(related.statements ?? []), ...grouped.statements],
      touches: [...(related.touches ?? []), ...grouped.touches],
    });
  }

  async function present({ member }: Person): Promise<Choice> {
    const row = await store.organizations.byId(member.organization_id);
    const { name } = stamps.organization.believe(row!);
    return {
      member_id: member.id,
      organization: name,
      role: member.role as Choice['role'],
      joined: member.state === 'active',
    };
  }

  return {
    /** The token of a new session, or null if the person has to choose. */
    enter: (identity: SignOnIdentity, origin: Origin): Promise<string | null> =>
      retryingStale(async () => {
        const { open, closed } = await find(identity);
        const [first, ...more] = open;
        if (first === undefined) return refuse(origin, closed, 'no member has this email address');
        if (more.length > 0 || first.member.state !== 'active') return null;
        return start(identity, first, origin);
      }),

    choices: async (identity: SignOnIdentity, origin: Origin): Promise<Choice[]> => {
      const { open, closed } = await find(identity);
      if (open.length === 0) return refuse(origin, closed, 'no member has this email address');
      return Promise.all(open.map(present));
    },

    /** The identity with only the groups needed for choosing, because the browser has little room to keep it. */
    brief: async (identity: SignOnIdentity): Promise<SignOnIdentity> => {
      const { open } = await find(identity);
      const found = await Promise.all(open.map(({ member }) => signedOnGroups(member.organization_id)));
      const names = new Set(found.flat().map(({ name }) => name));
      return { ...identity, groups: identity.groups.filter(name => names.has(name)) };
    },

    choose: (kept: KeptIdentity, memberId: string, origin: Origin): Promise<string> =>
      retryingStale(async () => {
        const { open, closed } = await find(kept.identity);
        const chosen = open.find(({ member }) => member.id === memberId);
        const refused = closed.filter(({ person }) => person.member.id === memberId);
        if (chosen === undefined)
          return refuse(origin, refused, 'the person can’t sign in to the chosen organization');
        const once = store.accounts.spendChallenge(kept.id, kept.expires, now());
        return start(kept.identity, chosen, origin, once).catch(error => {
          if (!(error instanceof Failure) || error.code !== 'CONFLICT' || error instanceof StaleChange)
            throw error;
          return refuse(origin, [], 'this sign-on was already used');
        });
      }),

    /** Records that the response from the issuer or the browser was not valid. */
    unanswered: async (origin: Origin, reason: string): Promise<void> => {
      lockOut.failed(origin);
      await guard.unproven(origin, 'session.refused', null, reason);
    },
  };
}
