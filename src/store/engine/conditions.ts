/**
 * Conditions for a whole unit: statements that only read, and refuse the unit if they find no row. On PostgreSQL the
 * rows they find are locked for the duration of the unit, so that a concurrent change happens before or after it, never
 * in between.
 */
import { sql } from 'kysely';
import { type Engine, type Statement, statement, type WriteRefusal } from './engine.ts';
import { prepared, StatementForms } from './prepared.ts';

type Table =
  | 'credentials'
  | 'sessions'
  | 'members'
  | 'member_groups'
  | 'accounts'
  | 'identities'
  | 'resources'
  | 'use_rules'
  | 'issuers'
  | 'authorities'
  | 'profiles';

/** A row of a table, at one of its revisions. */
interface RowAt {
  readonly table: Table;
  readonly id: string;
  readonly revision: number;
}

const unchangedForms = new StatementForms<readonly unknown[]>();

export function conditions({ db, name }: Engine) {
  const locked = name === 'postgres' ? sql`FOR SHARE` : sql``;

  /** Takes the ids and revisions of one row per table, alternating. */
  function unchanged(
    tables: readonly string[],
    unless: WriteRefusal,
  ): (values: readonly unknown[]) => Statement {
    const build = (values: readonly unknown[]) => {
      const isAs = (table: string, at: number) =>
        sql`${sql.ref(`${table}.id`)} = ${values[2 * at]} AND ${sql.ref(`${table}.revision`)} = ${values[2 * at + 1]}`;
      const from = sql.join(tables.map(table => sql.table(table)));
      const query = sql`SELECT 1 FROM ${from} WHERE ${sql.join(tables.map(isAs), sql` AND `)} ${locked}`;
      return { compile: () => query.compile(db) };
    };
    return prepared(build, { unless });
  }

  return {
    /** Each of the rows exists at its given revision. The rows must be from different tables. */
    unchanged(rows: readonly RowAt[], unless: WriteRefusal = 'unauthorized'): Statement {
      const tables = rows.map(({ table }) => table);
      const form = unchangedForms.of(db, `${unless} ${tables}`, () => unchanged(tables, unless));
      return form(rows.flatMap(({ id, revision }) => [id, revision]));
    },

    /** The member is unchanged and active, and the account still has this epoch. */
    proves(member: { readonly id: string; readonly revision: number }, epoch: number): Statement {
      const query = sql`SELECT 1 FROM members, accounts WHERE members.id = ${member.id}
        AND members.revision = ${member.revision} AND members.state = 'active'
        AND accounts.member_id = ${member.id} AND accounts.epoch = ${epoch} ${locked}`;
      return statement({ compile: () => query.compile(db) }, { unless: 'unauthorized' });
    },

    /** The organization has another active owner. */
    anotherOwner(organizationId: string, memberId: string): Statement {
      const query = sql`SELECT 1 FROM members WHERE organization_id = ${organizationId} AND id <> ${memberId}
        AND role = 'owner' AND state = 'active' LIMIT 1 ${locked}`;
      return statement({ compile: () => query.compile(db) }, { unless: 'ownerless' });
    },
  };
}
