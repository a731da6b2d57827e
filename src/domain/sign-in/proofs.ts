/**
 * Proves a person's identity again. Every change to how a person proves their identity requires a `Proven`, which
 * only this file creates: from a proof in the request itself, or from the session's record that its person proved
 * their identity within the last few minutes. Having signed in is not enough, because a session can be stolen.
 * Guesses are counted by the same lock-out as those at sign-in, but only the session's own failures cause a refusal.
 */
import { type Origin, provenFor } from '../../access/caller.ts';
import type { PasskeyOptions, ProofBody } from '../../contract/auth.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type { AccountRow } from '../../store/records/accounts.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import { accountSubject } from '../people/people.ts';
import type { RelatedWrites, SignedInAs } from '../sessions/dashboard-sessions.ts';
import type { Factor } from '../sessions/lock-out.ts';
import { believedPasskey, passkeyUsed } from './passkey-rows.ts';
import type { Site } from './passkeys.ts';
import type { SignInParts } from './sign-in.ts';
import type { SignOnIdentity } from './sign-on-identities.ts';

declare const made: unique symbol;

/** A fresh proof of identity, and what it used up. */
export interface Proven extends RelatedWrites {
  readonly [made]: true;
  readonly columns: Partial<AccountRow>;
}

export type Proofs = ReturnType<typeof proofsWith>;

export function proofsWith(parts: SignInParts) {
  const { store, stamps, guard, now, sessions, passwords, passkeys, secondFactor, lockOut } = parts;

  const purposeOf = ({ session }: SignedInAs) => `proof of ${session.id}`;
  const proven = (related: RelatedWrites, columns: Partial<AccountRow> = {}) =>
    ({ ...related, columns }) as Proven;

  const forgotten = ({ session, person }: SignedInAs, factor: Factor) => [
    lockOut.forget(person.account, factor),
    lockOut.forgetInSession(session.id, factor),
  ];

  /** Refuses a failed proof; the session continues. */
  async function refuse(as: SignedInAs, field: string, reason?: string): Promise<never> {
    const { member, account } = as.person;
    lockOut.failed(as.caller.origin);
    const claimed = {
      organizationId: member.organization_id,
      subject: accountSubject(account, member.email),
    };
    await guard.unproven(as.caller.origin, 'account.proof_refused', claimed, reason);
    throw invalid(field, 'is incorrect');
  }

  async function byPassword(as: SignedInAs, password: string): Promise<Proven | null> {
    const { member, account } = as.person;
    await lockOut.takeInSession(as.session.id, account, 'password', as.caller.origin);
    const right = passwords.matches(account, await passwords.derive(member.email_key, password));
    return right ? proven({ statements: forgotten(as, 'password') }) : null;
  }

  async function byCode(as: SignedInAs, code: string): Promise<Proven | null> {
    const { account } = as.person;
    await lockOut.takeInSession(as.session.id, account, 'code', as.caller.origin);
    const after = account.totp === null ? null : await secondFactor.take(account, code);
    if (after === null) return null;
    const { totp_step, recovery } = after;
    return proven({ statements: forgotten(as, 'code') }, { totp_step, recovery });
  }

  async function byPasskey(as: SignedInAs, site: Site, credential: PasskeyProof): Promise<Proven | null> {
    lockOut.check(as.caller.origin);
    const row = await believedPasskey(parts, credential);
    if (row?.member_id !== as.person.member.id) return null;
    const used = await passkeys.verify(site, purposeOf(as), credential, row);
    return used && proven(passkeyUsed(parts, row, used));
  }

  async function check(as: SignedInAs, given: ProofBody, field: string, site?: Site): Promise<Proven> {
    const { password, code, credential } = given;
    const found =
      password !== undefined
        ? await byPassword(as, password)
        : code !== undefined
          ? await byCode(as, code)
          : credential !== undefined && site !== undefined
            ? await byPasskey(as, site, credential)
            : null;
    return found ?? refuse(as, field);
  }

  /** What the proof used up, for storing it without another change. */
  function usedUp({ person: { member, account } }: SignedInAs, { columns, ...related }: Proven) {
    if (Object.keys(columns).length === 0) return related;
    const after = stamps.account.revise(account, columns, now());
    return {
      subjects: [accountSubject(after, member.email, 'account.code_used'), ...(related.subjects ?? [])],
      statements: [store.accounts.updateAccount(after), ...(related.statements ?? [])],
      touches: [member.id],
    };
  }

  return {
    refuse,

    /** The options that a passkey signs to prove its holder's identity. */
    options: async (as: SignedInAs, site: Site): Promise<PasskeyOptions> => {
      const rows = await store.accounts.passkeysOf(as.person.member.id);
      return passkeys.requestOptions(site, purposeOf(as), rows.map(stamps.passkey.believe));
    },

    /** Records in the session that its person proved their identity. */
    prove: ({ session, caller }: SignedInAs, site: Site, given: ProofBody): Promise<void> =>
      retryingStale(async () => {
        const as = await sessions.again(session.id, caller.origin);
        const proof = await check(as, given, fieldOf(given), site);
        await sessions.proven(as, usedUp(as, proof));
      }),

    /** The same through the single sign-on issuer, whose response arrives at another page than the one that asked. */
    proveByIdentity: (
      sessionId: string,
      { issuer, subject }: SignOnIdentity,
      origin: Origin,
    ): Promise<void> =>
      retryingStale(async () => {
        const as = await sessions.again(sessionId, origin);
        const { account } = as.person;
        const theirs = account.oidc_issuer === issuer && account.oidc_subject === subject;
        if (!theirs) await refuse(as, '', 'the issuer named another person');
        await sessions.proven(as, {});
      }),

    /** Checks the proof in the request, or else the one recorded in the session; refuses if there is neither. */
    require: async (as: SignedInAs, given: ProofBody = {}, field: string = fieldOf(given)) => {
      if (fieldOf(given) !== '') return check(as, given, field);
      // A session without a proof counts as proven in 1970.
      if (now() >= Number(as.session.proven_at) + provenFor) throw new Failure('PROOF_REQUIRED');
      return proven({});
    },
  };
}

type PasskeyProof = NonNullable<ProofBody['credential']>;

/** The field of the request that is at fault if the proof fails; empty if none was given. */
function fieldOf({ password, code, credential }: ProofBody): string {
  if (password !== undefined) return 'password';
  if (code !== undefined) return 'code';
  return credential === undefined ? '' : 'credential';
}
