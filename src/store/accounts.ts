/**
 * How members prove who they are: their accounts, passkeys and sessions, the failures that lock an address
 * out, and the challenges that were used. Digests, sealed seeds and public keys only.
 */
import { type RawBuilder, type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from './engine.ts';
import type { Audited, MemberRow } from './organizations.ts';
import type { AccountTable, PasskeyTable, SessionTable } from './schema.ts';

export type AccountRow = Selectable<AccountTable>;
export type PasskeyRow = Selectable<PasskeyTable>;
export type SessionRow = Selectable<SessionTable>;

type Audit<Row> = Row & Audited;

/** More organizations than this one person is not looked up in by an address alone. */
const mostMemberships = 20;
const attemptsRemembered = 24 * 3_600_000;

export function accounts({ db, commit }: Engine) {
  const newest = (table: 'members' | 'accounts' | 'passkeys' | 'sessions') =>
    sql<number | null>`(SELECT max(subject_revision) FROM audit_logs
      WHERE subject_id = ${sql.ref(`${table}.id`)} AND subject_revision IS NOT NULL)`.as('audited_revision');
  const members = () => db.selectFrom('members').selectAll('members').select(newest('members'));
  const rows = () => db.selectFrom('accounts').selectAll('accounts').select(newest('accounts'));
  const passkeys = () => db.selectFrom('passkeys').selectAll('passkeys').select(newest('passkeys'));
  const sessions = () => db.selectFrom('sessions').selectAll('sessions').select(newest('sessions'));

  return {
    member: (id: string): Promise<Audit<MemberRow> | undefined> =>
      members().where('id', '=', id).executeTakeFirst(),

    /** The same address may belong to several organizations; the oldest membership comes first. */
    membersByEmail: (emailKey: string): Promise<Audit<MemberRow>[]> =>
      members().where('email_key', '=', emailKey).orderBy('id').limit(mostMemberships).execute(),

    async activeOwners(organizationId: string): Promise<number> {
      const found = db.selectFrom('members').where('organization_id', '=', organizationId);
      const { total } = await found
        .where('role', '=', 'owner')
        .where('state', '=', 'active')
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      return total;
    },

    account: (id: string): Promise<Audit<AccountRow> | undefined> =>
      rows().where('id', '=', id).executeTakeFirst(),

    accountOf: (memberId: string): Promise<Audit<AccountRow> | undefined> =>
      rows().where('member_id', '=', memberId).executeTakeFirst(),

    insertAccount: (row: AccountRow): Statement => statement(db.insertInto('accounts').values(row)),

    updateAccount: (row: AccountRow): Statement =>
      statement(
        db
          .updateTable('accounts')
          .set(row)
          .where('id', '=', row.id)
          .where('revision', '=', row.revision - 1),
        { expect: 1 },
      ),

    passkeysOf: (memberId: string): Promise<Audit<PasskeyRow>[]> =>
      passkeys().where('member_id', '=', memberId).orderBy('id').execute(),

    passkeyByCredential: (credentialId: string): Promise<Audit<PasskeyRow> | undefined> =>
      passkeys().where('credential_id', '=', credentialId).executeTakeFirst(),

    insertPasskey: (row: PasskeyRow): Statement => statement(db.insertInto('passkeys').values(row)),

    updatePasskey: (row: PasskeyRow): Statement =>
      statement(
        db
          .updateTable('passkeys')
          .set(row)
          .where('id', '=', row.id)
          .where('revision', '=', row.revision - 1),
        { expect: 1 },
      ),

    notePasskeyUse: (id: string, used_at: number): Statement =>
      statement(db.updateTable('passkeys').set({ used_at }).where('id', '=', id)),

    removePasskey: ({ id, revision }: PasskeyRow): Statement =>
      statement(db.deleteFrom('passkeys').where('id', '=', id).where('revision', '=', revision), {
        expect: 1,
      }),

    session: (id: string): Promise<Audit<SessionRow> | undefined> =>
      sessions().where('id', '=', id).executeTakeFirst(),

    sessionsOf: (memberId: string): Promise<Audit<SessionRow>[]> =>
      sessions().where('member_id', '=', memberId).orderBy('id', 'desc').execute(),

    insertSession: (row: SessionRow): Statement => statement(db.insertInto('sessions').values(row)),

    /** When it was used is noted beside its changes, so an update leaves that alone. */
    updateSession: ({ used_at, ...row }: SessionRow): Statement =>
      statement(
        db
          .updateTable('sessions')
          .set(row)
          .where('id', '=', row.id)
          .where('revision', '=', row.revision - 1),
        { expect: 1 },
      ),

    removeSession: ({ id, revision }: SessionRow): Statement =>
      statement(db.deleteFrom('sessions').where('id', '=', id).where('revision', '=', revision), {
        expect: 1,
      }),

    /** Whether or not somebody else was faster. */
    dropSession: ({ id }: SessionRow): Statement => statement(db.deleteFrom('sessions').where('id', '=', id)),

    removeSessionsOf: (memberId: string): Statement =>
      statement(db.deleteFrom('sessions').where('member_id', '=', memberId)),

    removeOtherSessions: (memberId: string, id: string): Statement =>
      statement(db.deleteFrom('sessions').where('member_id', '=', memberId).where('id', '<>', id)),

    removeSessionsBefore: (created: number): Statement =>
      statement(db.deleteFrom('sessions').where('created_at', '<', created)),

    async noteSessionUse(id: string, used_at: number): Promise<void> {
      const note = db
        .updateTable('sessions')
        .set({ used_at })
        .where('id', '=', id)
        .where('used_at', '<', used_at);
      await commit([{ statements: [statement(note)] }]);
    },

    /**
     * Counts an attempt before it is made, unless the subject is locked out: then nothing is counted and the
     * moment at which it may try again comes back. Attempts made at once are counted one after another.
     */
    async takeAttempt(subject: string, now: number, waits: readonly number[]): Promise<number | null> {
      const wait = waitOf(waits);
      const forget = db.deleteFrom('lock_outs').where('last_at', '<', now - attemptsRemembered);
      const upsert = db
        .insertInto('lock_outs')
        .values({ subject, failures: 1, last_at: now })
        .onConflict(on =>
          on
            .column('subject')
            .doUpdateSet({ failures: sql`lock_outs.failures + 1`, last_at: now })
            .where(sql<boolean>`lock_outs.last_at + ${wait} <= ${now}`),
        )
        .returning('failures');
      const statements = [statement(forget), statement(upsert, { returning: true })];
      const [rows] = await commit([{ statements }]);
      if (rows![0]!.length > 0) return null;
      const row = await db
        .selectFrom('lock_outs')
        .select(sql<number>`last_at + ${wait}`.as('until'))
        .where('subject', '=', subject)
        .executeTakeFirst();
      return row === undefined ? null : Number(row.until);
    },

    clearAttempts: (subject: string): Statement =>
      statement(db.deleteFrom('lock_outs').where('subject', '=', subject)),

    /** Refused as taken where the challenge was used before. */
    useChallenge: (challenge: string, expires_at: number, now: number): Statement[] => [
      statement(db.deleteFrom('used_challenges').where('expires_at', '<', now)),
      statement(db.insertInto('used_challenges').values({ challenge, expires_at })),
    ],

    /** Refused as taken where it was done before, by whomever. */
    doOnce: (key: string): Statement =>
      statement(db.insertInto('meta').values({ key, value: Buffer.from('done') })),
  };
}

/** How long to wait after so many failures: the last of the list from then on. */
function waitOf(waits: readonly number[]): RawBuilder<number> {
  const cases = waits.map((wait, failures) => sql`WHEN ${sql.lit(failures)} THEN ${sql.lit(wait)}`);
  return sql<number>`CASE lock_outs.failures ${sql.join(cases, sql` `)} ELSE ${sql.lit(waits.at(-1)!)} END`;
}
