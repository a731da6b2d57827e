/**
 * Changes that a signed-in member makes to how they prove their identity: password, passkeys, one-time codes. Every
 * change requires a fresh proof (proofs.ts) and revises the account's row, so that a change and a concurrent reset of
 * the account are applied one after the other. A new password, a removed passkey and a changed second factor end all
 * other sessions.
 */
import type { AuditAction } from '../../contract/audit-actions.ts';
import type {
  PasskeyCredential,
  PasskeyOptions,
  PasskeyRecord,
  PasswordChangeBody,
  ProofBody,
} from '../../contract/auth.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { AccountRow, PasskeyRow } from '../../store/records/accounts.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import { accountSubject, type Person, passkeySubject } from '../people/people.ts';
import type { SignedInAs } from '../sessions/dashboard-sessions.ts';
import { newPasskey, presentPasskey } from './passkey-rows.ts';
import type { Site } from './passkeys.ts';
import type { Proofs, Proven } from './proofs.ts';
import type { SignInParts } from './sign-in.ts';
import { base32, codeUri, stepOf } from './totp.ts';

const mostPasskeys = 20;

interface AccountChange {
  readonly columns?: Partial<AccountRow>;
  /** Ends every session except the current one. */
  readonly endsOthers?: boolean;
  readonly subjects?: readonly SubjectChange[];
  readonly statements?: readonly Statement[];
}

export function factorsWith(parts: SignInParts, proofs: Proofs) {
  const { store, stamps, keyringSync, guard, now, sessions, passwords, passkeys, secondFactor, lockOut } =
    parts;

  /** Runs the change with the person's current state, and retries if another change was faster. */
  function change<T>(given: SignedInAs, run: (as: SignedInAs) => Promise<T>): Promise<T> {
    return retryingStale(async () => run(await sessions.again(given.session.id, given.caller.origin)));
  }

  async function revise(as: SignedInAs, proof: Proven, verb: AuditAction, change: AccountChange) {
    const { member, account } = as.person;
    const { columns, endsOthers, subjects = [], statements = [] } = change;
    const epoch = endsOthers ? account.epoch + 1 : account.epoch;
    const after = stamps.account.revise(account, { ...proof.columns, ...columns, epoch }, now());
    const renewal = endsOthers ? sessions.renew(as, epoch) : null;
    await guard.own(as.caller, verb, {
      subjects: [
        accountSubject(after, member.email),
        ...subjects,
        ...(proof.subjects ?? []),
        ...(renewal === null ? [] : [renewal.subject]),
      ],
      statements: [
        store.accounts.updateAccount(after),
        ...statements,
        ...(proof.statements ?? []),
        ...(renewal?.statements ?? []),
      ],
      touches: [member.id, as.session.id],
    });
  }

  async function passkeyRows(memberId: string): Promise<PasskeyRow[]> {
    return (await store.accounts.passkeysOf(memberId)).map(stamps.passkey.believe);
  }

  const purposeOf = ({ account }: Person) => `passkey of ${account.id}`;

  return {
    changePassword: (given: SignedInAs, { current, password }: PasswordChangeBody): Promise<void> =>
      change(given, async as => {
        const proof = await proofs.require(as, { password: current }, 'current');
        const { member, account } = as.person;
        const derived = await passwords.derive(member.email_key, password);
        const columns = { password: passwords.mark(account.id, derived) };
        await revise(as, proof, 'account.password_changed', { columns, endsOthers: true });
      }),

    passkeys: async ({ person }: SignedInAs): Promise<PasskeyRecord[]> =>
      (await passkeyRows(person.member.id)).map(presentPasskey),

    passkeyOptions: async (given: SignedInAs, site: Site): Promise<PasskeyOptions> => {
      const as = await sessions.again(given.session.id, given.caller.origin);
      await proofs.require(as);
      const { member, account } = as.person;
      const user = { handle: account.id, email: member.email };
      return passkeys.creationOptions(site, purposeOf(as.person), user, await passkeyRows(member.id));
    },

    addPasskey: (
      given: SignedInAs,
      site: Site,
      name: string,
      credential: PasskeyCredential,
    ): Promise<PasskeyRecord> =>
      change(given, async as => {
        const proof = await proofs.require(as);
        const existing = await passkeyRows(as.person.member.id);
        if (existing.length >= mostPasskeys)
          throw invalid('', `you can have at most ${mostPasskeys} passkeys`);
        const made = await passkeys.verifyNew(site, purposeOf(as.person), credential);
        const { row, subject, statements } = newPasskey(parts, as.person, name, made);
        await revise(as, proof, 'account.passkey_added', { subjects: [subject], statements });
        return presentPasskey(row);
      }),

    removePasskey: (given: SignedInAs, id: string): Promise<void> =>
      change(given, async as => {
        const proof = await proofs.require(as);
        const rows = await passkeyRows(as.person.member.id);
        const row = rows.find(passkey => passkey.id === id);
        if (row === undefined) throw new Failure('NOT_FOUND');
        if (rows.length === 1 && as.person.account.password === null) {
          throw invalid('', 'set a password before you remove the last passkey');
        }
        await revise(as, proof, 'account.passkey_removed', {
          endsOthers: true,
          subjects: [passkeySubject({ ...row, revision: row.revision + 1 }, 'passkey.removed')],
          statements: [store.accounts.removePasskey(row)],
        });
      }),

    beginCodes: (given: SignedInAs): Promise<{ secret: string; uri: string }> =>
      change(given, async as => {
        const proof = await proofs.require(as);
        const { member, account } = as.person;
        if (account.password === null) throw invalid('', 'set a password before you turn on one-time codes');
        const keyringCurrent = await keyringSync.requireCurrent();
        const { seed, sealed } = secondFactor.newSeed(account);
        const columns = { totp_pending: sealed };
        await revise(as, proof, 'account.codes_begun', { columns, statements: [keyringCurrent] });
        return { secret: base32(seed), uri: codeUri(seed, member.email) };
      }),

    confirmCodes: (given: SignedInAs, code: string): Promise<{ recovery_codes: string[] }> =>
      change(given, async as => {
        const proof = await proofs.require(as);
        const { account } = as.person;
        const { totp_pending: totp } = account;
        if (totp === null) throw invalid('code', 'there is no setup of one-time codes to confirm');
        await lockOut.take(account, 'code', as.caller.origin);
        const step = stepOf(await secondFactor.openSeed(account, totp), code, now(), 0);
        if (step === null) return proofs.refuse(as, 'code');
        const recovery = secondFactor.newRecoveryCodes(account);
        const columns = { totp, totp_pending: null, totp_step: step, recovery: recovery.digests };
        const statements = [lockOut.forget(account, 'code')];
        await revise(as, proof, 'account.codes_enabled', { columns, statements, endsOthers: true });
        return { recovery_codes: recovery.codes };
      }),

    removeCodes: (given: SignedInAs, body: ProofBody): Promise<void> =>
      change(given, async as => {
        const proof = await proofs.require(as, body);
        const columns = { totp: null, totp_pending: null, recovery: '[]' };
        await revise(as, proof, 'account.codes_removed', { columns, endsOthers: true });
      }),
  };
}
