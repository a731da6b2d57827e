/**
 * Members and accounts waiting for their person, and the link with which that person joins. A new link removes every
 * other way of proving their identity: they must use the link.
 */
import { mintToken } from '../../access/token.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { AccountRow } from '../../store/records/accounts.ts';
import type { MemberRow } from '../../store/records/organizations.ts';
import type { Parts } from '../kernel/parts.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import { emailKey } from './email.ts';
import { accountSubject } from './people.ts';

const invitationLifetime = 7 * 24 * 3_600_000;

interface NewMember {
  readonly id: string;
  readonly organizationId: string;
  readonly email: string;
  readonly role: string;
  /** Roles in single vaults, in stored form. */
  readonly grants?: string;
}

export function newMember({ stamps, now }: Parts, wanted: NewMember): MemberRow {
  const time = now();
  return stamps.member.stamp({
    id: wanted.id,
    organization_id: wanted.organizationId,
    email: wanted.email,
    email_key: emailKey(wanted.email),
    role: wanted.role,
    state: 'invited',
    grants: wanted.grants ?? '[]',
    created_at: time,
    updated_at: time,
    revision: 1,
  });
}

export function newAccount(
  { stamps, now }: Parts,
  member: MemberRow,
  id: string,
  changes: Partial<AccountRow>,
): AccountRow {
  const time = now();
  return stamps.account.stamp({
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
    created_at: time,
    updated_at: time,
    revision: 1,
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
      ...passkeys.map(({ id, name, revision }) => ({
        type: 'passkey',
        id,
        name,
        revision: revision + 1,
        verb: 'passkey.removed' as const,
      })),
    ],
    statements: [
      store.accounts.updateAccount(account),
      ...passkeys.map(store.accounts.removePasskey),
      store.accounts.removeSessionsOf(member.id),
    ],
  };
}
