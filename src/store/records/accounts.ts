/**
 * Members' means of signing in: accounts, passkeys and sessions, failed attempts that lock an account out, and used
 * challenges. Contains only digests, sealed seeds and public keys.
 */
import type { Selectable } from 'kysely';
import { publicBytes } from '../../base/bytes.ts';
import { type Engine, isStored, type Statement, statement } from '../engine/engine.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { removeRevised, updateRevised } from '../integrity/revisions.ts';
import type { AccountTable, LockOutTable, PasskeyTable, SessionTable } from '../schema/schema.ts';
import type { MemberRow } from './organizations.ts';

export type AccountRow = Selectable<AccountTable>;
export type PasskeyRow = Selectable<PasskeyTable>;
export type DashboardSessionRow = Selectable<SessionTable>;
export type LockOutRow = Selectable<LockOutTable>;

type Audit<Row> = Row & Audited;

/** The most memberships that a lookup by address returns. */
const mostMemberships = 20;
const attemptsRemembered = 24 * 3_600_000;

export function accounts({ db, commit }: Engine) {
  const members = () => db.selectFrom('members').selectAll('members').select(auditedRevision());
  const rows = () => db.selectFrom('accounts').selectAll('accounts').select(auditedRevision());
  const passkeys = () => db.selectFrom('passkeys').selectAll('passkeys').select(auditedRevision());
  const sessions = () => db.selectFrom('sessions').selectAll('sessions').select(auditedRevision());

  return {
    member: (id: string): Promise<Audit<MemberRow> | undefined> =>
      members().where('id', '=', id).executeTakeFirst(),

    /** An address may belong to members of several organizations. The oldest membership comes first. */
    membersByEmail: (emailKey: string): Promise<Audit<MemberRow>[]> =>
      members().where('email_key', '=', emailKey).orderBy('id').limit(mostMemberships).execute(),

    account: (id: string): Promise<Audit<AccountRow> | undefined> =>
      rows().where('id', '=', id).executeTakeFirst(),

    accountOf: (memberId: string): Promise<Audit<AccountRow> | undefined> =>
      rows().where('member_id', '=', memberId).executeTakeFirst(),

    /** A person may be a member of several organizations. The oldest account comes first. */
    accountsOfIdentity: (issuer: string, subject: string): Promise<Audit<AccountRow>[]> =>
      rows()
        .where('oidc_issuer', '=', issuer)
        .where('oidc_subject', '=', subject)
        .orderBy('id')
        .limit(mostMemberships)
        .execute(),

    insertAccount: (row: AccountRow): Statement => statement(db.insertInto('accounts').values(row)),

    updateAccount: (row: AccountRow): Statement => updateRevised(db, 'accounts', row),

    passkeysOf: (memberId: string): Promise<Audit<PasskeyRow>[]> =>
      passkeys().where('member_id', '=', memberId).orderBy('id').execute(),

    passkeyByCredential: (credentialId: string): Promise<Audit<PasskeyRow> | undefined> =>
      passkeys().where('credential_id', '=', credentialId).executeTakeFirst(),

    insertPasskey: (row: PasskeyRow): Statement => statement(db.insertInto('passkeys').values(row)),

    updatePasskey: (row: PasskeyRow): Statement => updateRevised(db, 'passkeys', row),

    notePasskeyUse: (id: string, used_at: number): Statement =>
      statement(db.updateTable('passkeys').set({ used_at }).where('id', '=', id)),

    removePasskey: (row: PasskeyRow): Statement => removeRevised(db, 'passkeys', row),

    session: (id: string): Promise<Audit<DashboardSessionRow> | undefined> =>
      sessions().where('id', '=', id).executeTakeFirst(),

    sessionsOf: (memberId: string): Promise<Audit<DashboardSessionRow>[]> =>
      sessions().where('member_id', '=', memberId).orderBy('id', 'desc').execute(),

    insertSession: (row: DashboardSessionRow): Statement => statement(db.insertInto('sessions').values(row)),

    updateSession: (row: DashboardSessionRow): Statement => updateRevised(db, 'sessions', row),

    removeSession: (row: DashboardSessionRow): Statement => removeRevised(db, 'sessions', row),

    /** Succeeds even if the session is already gone. */
    dropSession: ({ id }: DashboardSessionRow): Statement =>
      statement(db.deleteFrom('sessions').where('id', '=', id)),

    removeSessionsOf: (memberId: string): Statement =>
      statement(db.deleteFrom('sessions').where('member_id', '=', memberId)),

    removeOtherSessions: (memberId: string, id: string): Statement =>
      statement(db.deleteFrom('sessions').where('member_id', '=', memberId).where('id', '<>', id)),

    removeSessionsBefore: (created: number): Statement =>
      statement(db.deleteFrom('sessions').where('created_at', '<', created)),

    /** Changes nothing if the row has changed otherwise in the meantime, or was used later. */
    async noteSessionUse({ id, revision, used_at, stamp }: DashboardSessionRow): Promise<void> {
      const note = db
        .updateTable('sessions')
        .set({ used_at, stamp })
        .where('id', '=', id)
        .where('revision', '=', revision)
        .where('used_at', '<', used_at);
      await commit([{ statements: [statement(note)] }]);
    },

    attempts: (subject: string): Promise<LockOutRow | undefined> =>
      db.selectFrom('lock_outs').selectAll().where('subject', '=', subject).executeTakeFirst(),

    /** Counts an attempt. Returns false if another was counted after `before` was read. */
    async countAttempt(before: LockOutRow | undefined, after: LockOutRow): Promise<boolean> {
      const forget = db.deleteFrom('lock_outs').where('last_at', '<', after.last_at - attemptsRemembered);
      const count =
        before === undefined
          ? db.insertInto('lock_outs').values(after)
          : db
              .updateTable('lock_outs')
              .set(after)
              .where('subject', '=', before.subject)
              .where('stamp', '=', before.stamp);
      return isStored(commit([{ statements: [statement(count, { expect: 1 }), statement(forget)] }]));
    },

    clearAttempts: (subject: string): Statement =>
      statement(db.deleteFrom('lock_outs').where('subject', '=', subject)),

    /** Refused as taken if the challenge was used before. */
    spendChallenge: (challenge: string, expires_at: number, now: number): Statement[] => [
      statement(db.deleteFrom('used_challenges').where('expires_at', '<', now)),
      statement(db.insertInto('used_challenges').values({ challenge, expires_at })),
    ],

    /** Refused as taken if it was done before, by any process. */
    doOnce: (key: string): Statement =>
      statement(db.insertInto('meta').values({ key, value: publicBytes(Buffer.from('done')) })),
  };
}
