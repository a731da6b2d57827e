/**
 * Mails that wait to be sent, and what each member wants to be told. A mail is claimed for a while by one replica; what
 * it contains is sealed. A member has at most a few hundred waiting: what comes beyond that is not added.
 */
import { type Selectable, sql } from 'kysely';
import type { Sealed } from '../../base/bytes.ts';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import type { MailSettingsTable, MailTable } from '../schema/people.ts';

export type MailRow = Selectable<MailTable>;
export type MailSettingsRow = Selectable<MailSettingsTable>;

/** A mail to add. */
export interface NewMail {
  readonly id: string;
  readonly organization_id: string;
  readonly member_id: string;
  readonly content: Sealed;
  readonly due_at: number;
  readonly created_at: number;
}

export const mostWaitingMails = 200;

export function mails({ db, commit, name: engine }: Engine) {
  const postgres = engine === 'postgres';

  return {
    add: ({ id, organization_id, member_id, content, due_at, created_at }: NewMail): Statement => {
      const query = sql`INSERT INTO mails
          (id, organization_id, member_id, content, due_at, tries, claimed_until, created_at)
        SELECT ${uuid(id)}, ${uuid(organization_id)}, ${uuid(member_id)}, ${bytes(content)}, ${time(due_at)}, 0, 0,
          ${time(created_at)}
        WHERE (SELECT count(*) FROM mails WHERE member_id = ${member_id}) < ${sql.lit(mostWaitingMails)}`;
      return statement({ compile: () => query.compile(db) });
    },

    /** The mails that are due, for one replica until `until`, the oldest first. */
    async claim(now: number, until: number, limit: number): Promise<MailRow[]> {
      const due = db
        .selectFrom('mails')
        .select('id')
        .where('due_at', '<=', now)
        .where('claimed_until', '<=', now)
        .orderBy('due_at')
        .orderBy('id')
        .limit(limit);
      if ((await due.limit(1).execute()).length === 0) return [];
      const change = db
        .updateTable('mails')
        .set({ claimed_until: until })
        .where('id', 'in', postgres ? due.limit(limit).forUpdate().skipLocked() : due.limit(limit))
        .returningAll();
      const [rows] = await commit([{ statements: [statement(change, { returning: true })] }]);
      return rows![0]! as unknown as MailRow[];
    },

    /** To be tried again at `dueAt`. */
    postpone: (ids: readonly string[], dueAt: number, tries: number): Statement =>
      statement(
        db
          .updateTable('mails')
          .set({ due_at: dueAt, tries, claimed_until: 0 })
          .where('id', 'in', [...ids]),
      ),

    remove: (ids: readonly string[]): Statement =>
      statement(db.deleteFrom('mails').where('id', 'in', [...ids])),

    settings: (memberId: string): Promise<MailSettingsRow | undefined> =>
      db.selectFrom('mail_settings').selectAll().where('member_id', '=', memberId).executeTakeFirst(),

    settingsOf: (memberIds: readonly string[]): Promise<MailSettingsRow[]> =>
      memberIds.length === 0
        ? Promise.resolve([])
        : db
            .selectFrom('mail_settings')
            .selectAll()
            .where('member_id', 'in', [...memberIds])
            .execute(),

    setSettings: (row: MailSettingsRow): Statement =>
      statement(
        db
          .insertInto('mail_settings')
          .values(row)
          .onConflict(on => on.column('member_id').doUpdateSet({ choices: row.choices, places: row.places })),
      ),
  };

  /** PostgreSQL doesn't infer the types of parameters in the list of a SELECT. */
  function uuid(id: string) {
    return postgres ? sql`${id}::uuid` : sql`${id}`;
  }
  function bytes(value: Sealed) {
    return postgres ? sql`${value}::bytea` : sql`${value}`;
  }
  function time(value: number) {
    return postgres ? sql`${value}::bigint` : sql`${value}`;
  }
}
