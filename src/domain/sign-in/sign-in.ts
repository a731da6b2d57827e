/**
 * Signs people in by password, with a one-time code if they have a second factor, or by passkey. Every refusal looks
 * the same and costs the same, whichever account was meant; invited and removed members are refused in all cases. All
 * failures are recorded.
 */
import type { Origin } from '../../access/caller.ts';
import type { PasskeyCredential, PasskeyOptions, PasswordBody } from '../../contract/auth.ts';
import { Failure } from '../../contract/errors.ts';
import type { Parts } from '../kernel/parts.ts';
import { emailKey } from '../people/email.ts';
import { accountSubject, memberSubject, type People, type Person } from '../people/people.ts';
import type { DashboardSessions, RelatedWrites } from '../sessions/dashboard-sessions.ts';
import type { Factor, LockOut } from '../sessions/lock-out.ts';
import type { Challenges } from './challenges.ts';
import { believedPasskey, passkeyUsed } from './passkey-rows.ts';
import type { Passkeys, Site } from './passkeys.ts';
import type { Passwords } from './passwords.ts';
import type { SecondFactor } from './second-factor.ts';

const purpose = 'sign-in';

export type SignIn = ReturnType<typeof signInWith>;

export interface SignInParts extends Parts {
  readonly people: People;
  readonly sessions: DashboardSessions;
  readonly passwords: Passwords;
  readonly passkeys: Passkeys;
  readonly challenges: Challenges;
  readonly secondFactor: SecondFactor;
  readonly lockOut: LockOut;
}

export function signInWith(parts: SignInParts) {
  const { store, guard, people, sessions, passwords, passkeys, secondFactor, lockOut } = parts;

  /** Records the refusal for every person who may have been meant. */
  async function refuse(origin: Origin, claimed: readonly Person[]): Promise<never> {
    lockOut.failed(origin);
    const known = claimed.map(({ member }) => ({
      organizationId: member.organization_id,
      subject: memberSubject(member),
    }));
    const entries = known.length === 0 ? [null] : known;
    await Promise.all(entries.map(entry => guard.unproven(origin, 'session.refused', entry)));
    throw new Failure('UNAUTHORIZED');
  }

  /** Costs one derivation, whether no account, one or several have the address. */
  async function proven({ email, password, organization }: PasswordBody, origin: Origin): Promise<Person> {
    const key = emailKey(email);
    const all = await inOrganization(await people.byEmail(email), organization);
    const accounts = all.map(({ account }) => account);
    const open = await lockOut.takeEach(accounts, key, origin);
    const derived = await passwords.derive(key, password);
    if (all.length === 0) passwords.mark(key, derived); // The same work as the comparison for a known person.
    const right = all.find(({ account }) => open.has(account.id) && passwords.matches(account, derived));
    // The derivation takes time, so changes made in the meantime are taken into account.
    const person = right && (await people.fresh(right.member.id));
    const stands = person?.member.state === 'active' && passwords.matches(person.account, derived);
    return stands ? person : refuse(origin, all);
  }

  /** People with the same address and password in several organizations name one; otherwise it is the oldest. */
  async function inOrganization(all: Person[], name: string | undefined): Promise<Person[]> {
    if (name === undefined) return all;
    const organization = await store.organizations.byName(name);
    return all.filter(({ member }) => member.organization_id === organization?.id);
  }

  async function useCode(person: Person, code: string | undefined, origin: Origin): Promise<RelatedWrites> {
    const { account, member } = person;
    if (account.totp === null) return {};
    if (code === undefined) throw new Failure('SECOND_FACTOR_REQUIRED');
    await lockOut.take(account, 'code', origin);
    const after = await secondFactor.take(account, code);
    if (after === null) return refuse(origin, [person]);
    return {
      subjects: [accountSubject(after, member.email, 'account.code_used')],
      statements: [store.accounts.updateAccount(after)],
      touches: [member.id],
    };
  }

  /** Refused like a used code if another request was faster with the same code or challenge. */
  async function start(
    person: Person,
    method: string,
    origin: Origin,
    related: RelatedWrites,
    proven: readonly Factor[] = [],
  ): Promise<string> {
    const forgotten = proven.map(factor => lockOut.forget(person.account, factor));
    const statements = [...(related.statements ?? []), ...forgotten];
    try {
      return await sessions.start(person, method, origin, { ...related, statements });
    } catch (error) {
      if (error instanceof Failure && error.code === 'CONFLICT') return refuse(origin, [person]);
      throw error;
    }
  }

  return {
    requestOptions: (site: Site): Promise<PasskeyOptions> => passkeys.requestOptions(site, purpose),

    /** Both return the token of a new session. */
    byPassword: async (body: PasswordBody, origin: Origin): Promise<string> => {
      const person = await proven(body, origin);
      const related = await useCode(person, body.code, origin);
      if (related.subjects === undefined) return start(person, 'password', origin, related, ['password']);
      return start(person, 'password+code', origin, related, ['password', 'code']);
    },

    byPasskey: async (site: Site, credential: PasskeyCredential, origin: Origin): Promise<string> => {
      lockOut.check(origin);
      const row = await believedPasskey(parts, credential);
      const person = row && (await people.fresh(row.member_id));
      if (person?.member.state !== 'active') return refuse(origin, person ? [person] : []);
      const used = await passkeys.verify(site, purpose, credential, row!);
      if (used === null) return refuse(origin, [person]);
      return start(person, 'passkey', origin, passkeyUsed(parts, row!, used));
    },
  };
}
