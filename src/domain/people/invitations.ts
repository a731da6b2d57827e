/**
 * Members and accounts waiting for their person, and the link with which that person joins. A new link removes every
 * other way of proving their identity: they must use the link.
 */
import { mintToken } from '../../access/token.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { AccountRow } from '../../store/records/accounts.ts';
import type { MemberRow } from '../../store/records/organizations.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Created } from '../kernel/stamps.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import { emailKey } from './email.ts';
import { accountSubject, passkeySubject } from './people.ts';

const invitationLifetime = 7 * 24 * 3_600_000;

export function newMember({ stamps, now }: Parts, wanted: Omit<Created<MemberRow>, 'email_key'>): MemberRow {
  return stamps.member.create(now(), { ...wanted, email_key: emailKey(wanted.email) });
}

export function newAccount(
  { stamps, now }: Parts,
  member: MemberRow,
  id: string,
  changes: Partial<AccountRow>,
): AccountRow {
  return stamps.account.create(now(), {
    id,
    organization_id: member.organization_id,
    member_id: member.id,
    password: null,
    totp: null,
    totp_pending: null,
    totp_step: 0,
    recovery: '[]',
    invitation: null,
    invitation_expires: null,
    oidc_issuer: null,
    oidc_subject: null,
    epoch: 1,
    ...changes,
  });
}

/** An account waiting for its person, and the token with which they join. */
export interface Invited {
  readonly token: string;
  readonly subjects: readonly SubjectChange[];
  readonly statements: readonly Statement[];
}

export function inviteNew(parts: Parts, member: MemberRow): Invited {
  const id = parts.newId();
  const token = mintToken('invite', id);
  const account = newAccount(parts, member, id, {
    invitation: parts.keyring.tokenDigest(token),
    invitation_expires: parts.now() + invitationLifetime,
  });
  return {
    token,
    subjects: [accountSubject(account, member.email, 'account.created')],
    statements: [parts.store.accounts.insertAccount(account)],
  };
}

export async function inviteAgain(parts: Parts, member: MemberRow): Promise<Invited> {
  const { store, stamps, keyring, now } = parts;
  const row = await store.accounts.accountOf(member.id);
  if (row === undefined) return inviteNew(parts, member);
  const before = stamps.account.believe(row);
  const token = mintToken('invite', before.id);
  const account = stamps.account.revise(
    before,
    {
      password: null,
      totp: null,
      totp_pending: null,
      recovery: '[]',
      invitation: keyring.tokenDigest(token),
      invitation_expires: now() + invitationLifetime,
      oidc_issuer: null,
      oidc_subject: null,
      epoch: before.epoch + 1,
    },
    now(),
  );
  const passkeys = (await store.accounts.passkeysOf(member.id)).map(stamps.passkey.believe);
  return {
    token,
    subjects: [
      accountSubject(account, member.email, 'account.reset'),
      ...passkeys.map(row => passkeySubject({ ...row, revision: row.revision + 1 }, 'passkey.removed')),
    ],
    statements: [
      store.accounts.updateAccount(account),
      ...passkeys.map(store.accounts.removePasskey),
      store.accounts.removeSessionsOf(member.id),
    ],
  };
}
