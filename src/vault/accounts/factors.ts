/**
 * What a signed-in member changes about how he proves himself: password, passkeys, one-time codes. Whoever
 * takes something away proves himself again first, through the same lock-out as a sign-in. A changed password
 * and a changed second factor end all other sessions.
 */
import type { PasskeyCredential, PasskeyRecord, PasswordChangeBody } from '../../contract/auth.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { AccountRow, PasskeyRow } from '../../store/accounts.ts';
import type { Statement } from '../../store/engine.ts';
import type { MemberRow } from '../../store/organizations.ts';
import { retryingStale, type SubjectChange } from '../guard.ts';
import { base32, codeUri, stepOf } from './one-time-codes.ts';
import type { NewPasskey, Site } from './passkeys.ts';
import { accountSubject, type Person } from './people.ts';
import type { SignedInAs } from './sessions.ts';
import type { SignInParts } from './sign-in.ts';

const mostPasskeys = 20;

interface Proof {
  readonly password?: string | undefined;
  readonly code?: string | undefined;
  /** The member of the request that is at fault if it proves nothing. */
  readonly field: string;
}

interface AccountChange {
  readonly columns?: Partial<AccountRow>;
  /** Ends every session but the one that asks. */
  readonly endsOthers?: boolean;
  readonly subjects?: readonly SubjectChange[];
  readonly statements?: readonly Statement[];
}

export interface Factors {
  changePassword(as: SignedInAs, body: PasswordChangeBody): Promise<void>;
  passkeys(as: SignedInAs): Promise<PasskeyRecord[]>;
  passkeyOptions(as: SignedInAs, site: Site): Promise<object>;
  addPasskey(as: SignedInAs, site: Site, name: string, credential: PasskeyCredential): Promise<PasskeyRecord>;
  removePasskey(as: SignedInAs, id: string): Promise<void>;
  beginCodes(as: SignedInAs): Promise<{ secret: string; uri: string }>;
  confirmCodes(as: SignedInAs, code: string): Promise<{ recovery_codes: string[] }>;
  removeCodes(
    as: SignedInAs,
    proof: { password?: string | undefined; code?: string | undefined },
  ): Promise<void>;
}

export function factorsWith(parts: SignInParts): Factors {
  const { store, stamps, terms, guard, now, people, sessions, passwords, passkeys, codes, lockOut } = parts;

  async function personOf({ person }: SignedInAs): Promise<Person> {
    const fresh = await people.fresh(person.member.id);
    if (fresh === undefined) throw new Failure('UNAUTHORIZED');
    return fresh;
  }

  /** Refuses whoever can't prove himself once more. */
  async function proveAgain(as: SignedInAs, { member, account }: Person, proof: Proof): Promise<void> {
    await lockOut.take(member.email_key, as.caller.origin);
    if (await isProof(member, account, proof)) return;
    lockOut.failed(as.caller.origin);
    await guard.unproven(as.caller.origin, 'account.proof_refused', {
      organizationId: member.organization_id,
      subject: accountSubject(account, member.email),
    });
    throw invalid(proof.field, 'is not right');
  }

  async function isProof(
    member: MemberRow,
    account: AccountRow,
    { password, code }: Proof,
  ): Promise<boolean> {
    if (password === undefined) {
      return code !== undefined && account.totp !== null && (await codes.take(account, code)) !== null;
    }
    return passwords.matches(account, await passwords.derive(member.email_key, password));
  }

  /** Stores a change of the account, and what goes with it. */
  async function revise(as: SignedInAs, person: Person, verb: string, change: AccountChange): Promise<void> {
    const { member, account } = person;
    const { columns = {}, endsOthers = false, subjects = [], statements = [] } = change;
    const epoch = endsOthers ? account.epoch + 1 : account.epoch;
    const after = stamps.account.revise(account, { ...columns, epoch }, now());
    const renewal = endsOthers ? sessions.renew(as, epoch) : null;
    await guard.own(as.caller, verb, {
      subjects: [
        accountSubject(after, member.email),
        ...subjects,
        ...(renewal === null ? [] : [renewal.subject]),
      ],
      statements: [
        store.accounts.updateAccount(after),
        ...statements,
        ...(renewal?.statements ?? []),
        ...(endsOthers ? [lockOut.forget(member.email_key)] : []),
      ],
      touches: [member.id, as.session.id],
    });
  }

  async function passkeyRows(memberId: string): Promise<PasskeyRow[]> {
    return (await store.accounts.passkeysOf(memberId)).map(stamps.passkey.believe);
  }

  const purposeOf = ({ account }: Person) => `passkey of ${account.id}`;

  return {
    changePassword: (as, { current, password }) =>
      retryingStale(async () => {
        const person = await personOf(as);
        // Who has no password yet has signed in by something stronger, and is signed in.
        if (person.account.password !== null)
          await proveAgain(as, person, { password: current ?? '', field: 'current' });
        const derived = await passwords.derive(person.member.email_key, password);
        const mark = passwords.mark(person.account.id, derived);
        await revise(as, person, 'account.password_changed', {
          columns: { password: mark },
          endsOthers: true,
        });
      }),

    passkeys: async ({ person }) => (await passkeyRows(person.member.id)).map(presentPasskey),

    passkeyOptions: async (as, site) => {
      const { member, account } = as.person;
      const user = { handle: account.id, email: member.email };
      return passkeys.creationOptions(site, purposeOf(as.person), user, await passkeyRows(member.id));
    },

    addPasskey: async (as, site, name, credential) => {
      const existing = await passkeyRows(as.person.member.id);
      if (existing.length >= mostPasskeys) throw invalid('', `${mostPasskeys} passkeys are the most`);
      const made = await passkeys.verifyNew(site, purposeOf(as.person), credential);
      const { row, subject, statements } = newPasskey(parts, as.person, name, made);
      await guard.own(as.caller, 'passkey.created', { subjects: [subject], statements });
      return presentPasskey(row);
    },

    removePasskey: (as, id) =>
      retryingStale(async () => {
        const person = await personOf(as);
        const rows = await passkeyRows(person.member.id);
        const row = rows.find(passkey => passkey.id === id);
        if (row === undefined) throw new Failure('NOT_FOUND');
        if (rows.length === 1 && person.account.password === null) {
          throw invalid('', 'the last passkey stays until there is a password');
        }
        const subject = { type: 'passkey', id, name: row.name, revision: row.revision + 1 };
        await revise(as, person, 'account.passkey_removed', {
          endsOthers: true,
          subjects: [{ ...subject, verb: 'passkey.removed' }],
          statements: [store.accounts.removePasskey(row)],
        });
      }),

    beginCodes: as =>
      retryingStale(async () => {
        const person = await personOf(as);
        if (person.account.password === null) throw invalid('', 'a second factor needs a password first');
        const hold = await terms.hold();
        const { seed, sealed } = codes.newSeed(person.account);
        const columns = { totp_pending: sealed };
        await revise(as, person, 'account.codes_begun', { columns, statements: [hold] });
        return { secret: base32(seed), uri: codeUri(seed, person.member.email) };
      }),

    confirmCodes: async (as, code) => {
      const person = await personOf(as);
      const { account, member } = person;
      if (account.totp_pending === null) throw invalid('code', 'nothing was begun that it could confirm');
      await lockOut.take(member.email_key, as.caller.origin);
      const step = stepOf(await codes.openSeed(account, account.totp_pending), code, now(), 0);
      if (step === null) throw invalid('code', 'is not right');
      const recovery = codes.newRecoveryCodes(account);
      const { totp_pending: totp } = account;
      const columns = { totp, totp_pending: null, totp_step: step, recovery: recovery.digests };
      await revise(as, person, 'account.codes_enabled', { columns, endsOthers: true });
      return { recovery_codes: recovery.codes };
    },

    removeCodes: (as, proof) =>
      retryingStale(async () => {
        const person = await personOf(as);
        await proveAgain(as, person, { ...proof, field: proof.password === undefined ? 'code' : 'password' });
        const columns = { totp: null, totp_pending: null, recovery: '[]' };
        await revise(as, person, 'account.codes_removed', { columns, endsOthers: true });
      }),
  };
}

/** The row of a passkey that was just proven, and what stores it. */
export function newPasskey(
  { store, stamps, now, newId, challenges }: SignInParts,
  { member }: Pick<Person, 'member'>,
  name: string,
  made: NewPasskey,
): { row: PasskeyRow; subject: SubjectChange; statements: Statement[] } {
  const time = now();
  const row = stamps.passkey.stamp({
    id: newId(),
    organization_id: member.organization_id,
    member_id: member.id,
    name,
    credential_id: made.credentialId,
    public_key: Buffer.from(made.publicKey),
    transports: JSON.stringify(made.transports),
    counter: made.counter,
    created_at: time,
    updated_at: time,
    revision: 1,
    used_at: null,
  });
  return {
    row,
    subject: { type: 'passkey', id: row.id, name, revision: 1 },
    statements: [...challenges.use(made.challenge), store.accounts.insertPasskey(row)],
  };
}

function presentPasskey(row: PasskeyRow): PasskeyRecord {
  return { id: row.id, name: row.name, created_at: iso(row.created_at), used_at: isoOrNull(row.used_at) };
}
