/**
 * Signing in: by password and, where there is a second factor, its code; by passkey; or by an address that a
 * trusted issuer verified. Every refusal looks the same and costs the same, whoever was meant; invited and
 * removed members are refused on each of these ways alike. All that fails is written down.
 */
import type { Origin } from '../../access/caller.ts';
import type { PasskeyCredential, PasswordBody } from '../../contract/auth.ts';
import { Failure } from '../../contract/errors.ts';
import type { AccountRow, PasskeyRow } from '../../store/accounts.ts';
import { emailKey } from '../email.ts';
import { retryingStale } from '../guard.ts';
import type { Parts } from '../parts.ts';
import type { Challenges } from './challenges.ts';
import type { Codes } from './codes.ts';
import type { LockOut } from './lock-out.ts';
import type { Passkeys, Site } from './passkeys.ts';
import type { Passwords } from './passwords.ts';
import { accountSubject, memberSubject, type People, type Person } from './people.ts';
import type { Along, Sessions } from './sessions.ts';

export interface SignIn {
  /** Each answers the token of a new session. */
  byPassword(body: PasswordBody, origin: Origin): Promise<string>;
  byPasskey(site: Site, credential: PasskeyCredential, origin: Origin): Promise<string>;
  /** The issuer's word that the address is the person's; a member who was invited has joined by it. */
  byVerifiedEmail(email: string, origin: Origin): Promise<string>;
  requestOptions(site: Site): Promise<object>;
}

export interface SignInParts extends Parts {
  readonly people: People;
  readonly sessions: Sessions;
  readonly passwords: Passwords;
  readonly passkeys: Passkeys;
  readonly challenges: Challenges;
  readonly codes: Codes;
  readonly lockOut: LockOut;
}

export function signInWith(parts: SignInParts): SignIn {
  const { store, stamps, guard, now, people, sessions, passwords, passkeys, challenges, codes, lockOut } =
    parts;

  async function refuse(origin: Origin, claimed: Person | undefined): Promise<never> {
    lockOut.failed(origin);
    const known = claimed && {
      organizationId: claimed.member.organization_id,
      subject: memberSubject(claimed.member),
    };
    await guard.unproven(origin, 'session.refused', known ?? null);
    throw new Failure('UNAUTHORIZED');
  }

  /** One derivation, whoever has the address, and however many have it. */
  async function proven(body: PasswordBody, origin: Origin): Promise<Person> {
    const key = emailKey(body.email);
    const derived = await passwords.derive(key, body.password);
    const all = await people.byEmail(key);
    const matching = all.filter(person => passwords.matches(person.account, derived));
    const active = matching.filter(({ member }) => member.state === 'active');
    const person = await inOrganization(active, body.organization);
    return person ?? refuse(origin, all[0]);
  }

  /** Who has one address and one password in several organizations says which; else it is the oldest. */
  async function inOrganization(
    all: readonly Person[],
    name: string | undefined,
  ): Promise<Person | undefined> {
    if (name === undefined) return all[0];
    const organization = await store.organizations.byName(name);
    return all.find(({ member }) => member.organization_id === organization?.id);
  }

  async function secondFactor(person: Person, code: string | undefined, origin: Origin): Promise<Along> {
    const { account, member } = person;
    if (account.totp === null) return {};
    if (code === undefined) throw new Failure('SECOND_FACTOR_REQUIRED');
    const after = await codes.take(account, code);
    if (after === null) return refuse(origin, person);
    return {
      subjects: [accountSubject(after, member.email, 'account.code_used')],
      statements: [store.accounts.updateAccount(after)],
      touches: [member.id],
    };
  }

  /** Refused as used, where somebody else was faster with the same code or challenge. */
  async function start(person: Person, method: string, origin: Origin, along: Along): Promise<string> {
    const statements = [...(along.statements ?? []), lockOut.forget(person.member.email_key)];
    try {
      return await sessions.start(person, method, origin, { ...along, statements });
    } catch (error) {
      if (error instanceof Failure && error.code === 'CONFLICT') return refuse(origin, person);
      throw error;
    }
  }

  async function believedPasskey(credential: PasskeyCredential): Promise<PasskeyRow | undefined> {
    const row = await store.accounts.passkeyByCredential(credential.id);
    return row && stamps.passkey.believe(row);
  }

  function passkeyUsed(row: PasskeyRow, { member }: Person, counter: number, challenge: string): Along {
    const used = [...challenges.use(challenge), store.accounts.notePasskeyUse(row.id, now())];
    if (counter === row.counter) return { statements: used };
    const after = stamps.passkey.revise(row, { counter }, now());
    const subject = { type: 'passkey', id: row.id, name: row.name, revision: after.revision };
    return {
      subjects: [{ ...subject, verb: 'passkey.counted', details: { member: member.id } }],
      statements: [...used, store.accounts.updatePasskey(after)],
    };
  }

  function joined({ member, account }: Person): { person: Person; along: Along } {
    const active = stamps.member.revise(member, { state: 'active' }, now());
    const cleared: Partial<AccountRow> = { invitation: null, invitation_expires: null };
    const after = stamps.account.revise(account, cleared, now());
    return {
      person: { member: active, account: after },
      along: {
        subjects: [
          { ...memberSubject(active), verb: 'member.joined' },
          accountSubject(after, active.email, 'account.opened'),
        ],
        statements: [store.organizations.updateMember(active), store.accounts.updateAccount(after)],
        touches: [member.id],
      },
    };
  }

  return {
    requestOptions: passkeys.requestOptions,

    byPassword: async (body, origin) => {
      await lockOut.take(emailKey(body.email), origin);
      const person = await proven(body, origin);
      const along = await secondFactor(person, body.code, origin);
      return start(person, along.subjects === undefined ? 'password' : 'password+code', origin, along);
    },

    byPasskey: async (site, credential, origin) => {
      lockOut.check(origin);
      const row = await believedPasskey(credential);
      const person = row && (await people.fresh(row.member_id));
      if (row === undefined || person?.member.state !== 'active') return refuse(origin, person);
      const proof = await passkeys.verify(site, credential, row);
      if (proof === null) return refuse(origin, person);
      return start(person, 'passkey', origin, passkeyUsed(row, person, proof.counter, proof.challenge));
    },

    byVerifiedEmail: (email, origin) =>
      retryingStale(async () => {
        lockOut.check(origin);
        const all = await people.byEmail(emailKey(email));
        const person = all.find(({ member }) => member.state === 'active') ?? all[0];
        if (person === undefined) return refuse(origin, undefined);
        if (person.member.state === 'active') return sessions.start(person, 'oidc', origin);
        const { person: active, along } = joined(person);
        return sessions.start(active, 'oidc', origin, along);
      }),
  };
}
