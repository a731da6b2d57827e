/** Everything that can be attached to a table, or put in its place, and lies about it: for each engine, by its kind. */
import type { EngineName } from '../src/store/migrations/migrations.ts';

export interface Shape {
  readonly table: string;
  /** Those that the database does not compute. */
  readonly columns: readonly string[];
  /** Indexes that are not those of a constraint. */
  readonly indexes: readonly string[];
  readonly constraints: readonly string[];
}

/** What makes the lie, statement by statement. */
export type Lie = readonly [kind: string, ...statements: string[]];

const doing = (name: string, body: string) =>
  `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN ${body} END'`;
/** Nothing is kept, though all seems well. */
const nothing = doing('swallow', 'RETURN NULL;');

function onPostgres({ table, columns, indexes, constraints }: Shape, turn: number): Lie[] {
  const [first] = columns;
  const triggers = ['BEFORE', 'AFTER'].flatMap(when =>
    ['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'].flatMap(event =>
      (event === 'TRUNCATE' ? ['STATEMENT'] : ['ROW', 'STATEMENT']).map(
        (each): Lie => [
          `trigger ${when} ${event} for each ${each}`,
          nothing,
          `CREATE TRIGGER lie ${when} ${event} ON ${table} FOR EACH ${each} EXECUTE FUNCTION swallow()`,
        ],
      ),
    ),
  );
  return [
    // They take turns: every kind is told, and about every table some are.
    ...triggers.filter((_, at) => (at + turn) % 7 === 0),
    [
      'trigger at the end of the transaction',
      nothing,
      `CREATE CONSTRAINT TRIGGER lie AFTER INSERT ON ${table} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION swallow()`,
    ],
    ['row security', `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`],
    ['forced row security', `ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`],
    ['policy', `CREATE POLICY lie ON ${table} USING (false)`],
    ['restrictive policy', `CREATE POLICY lie ON ${table} AS RESTRICTIVE FOR SELECT USING (false)`],
    ...['INSERT', 'UPDATE', 'DELETE'].map(
      (event): Lie => [`rule ${event}`, `CREATE RULE lie AS ON ${event} TO ${table} DO INSTEAD NOTHING`],
    ),
    [
      'view in its place',
      `ALTER TABLE ${table} RENAME TO hidden`,
      `CREATE VIEW ${table} AS SELECT * FROM hidden`,
    ],
    [
      'materialized view in its place',
      `ALTER TABLE ${table} RENAME TO hidden`,
      `CREATE MATERIALIZED VIEW ${table} AS SELECT * FROM hidden`,
    ],
    [
      'copy in its place',
      `ALTER TABLE ${table} RENAME TO hidden`,
      `CREATE TABLE ${table} AS SELECT * FROM hidden`,
    ],
    ['child', `CREATE TABLE lie () INHERITS (${table})`],
    ['removal', `DROP TABLE ${table} CASCADE`],
    ['column', `ALTER TABLE ${table} ADD COLUMN lie text`],
    ['renamed column', `ALTER TABLE ${table} RENAME COLUMN ${first} TO lie`],
    ['index', `CREATE INDEX lie ON ${table} (${first})`],
    ['unique index', `CREATE UNIQUE INDEX lie ON ${table} (${columns.join(', ')})`],
    ['constraint', `ALTER TABLE ${table} ADD CONSTRAINT lie CHECK (${first} IS NOT NULL) NOT VALID`],
    ...indexes.flatMap((index): Lie[] => [
      // A server without the extension has none.
      ...(index === 'resources_name_parts' ? [] : [[`removed index ${index}`, `DROP INDEX ${index}`] as Lie]),
      [
        `partial index ${index}`,
        `DROP INDEX ${index}`,
        `CREATE INDEX ${index} ON ${table} (${first}) WHERE false`,
      ],
    ]),
    ...constraints.map(
      (constraint): Lie => [
        `removed constraint ${constraint}`,
        `ALTER TABLE ${table} DROP CONSTRAINT ${constraint} CASCADE`,
      ],
    ),
  ];
}

function onSqlite({ table, columns, indexes }: Shape): Lie[] {
  const [first] = columns;
  const triggers = ['BEFORE', 'AFTER'].flatMap(when =>
    ['INSERT', 'UPDATE', 'DELETE'].map(
      (event): Lie => [
        `trigger ${when} ${event}`,
        `CREATE TRIGGER lie ${when} ${event} ON ${table} BEGIN SELECT RAISE(IGNORE); END`,
      ],
    ),
  );
  const edited = (sql: string, where: string) => `UPDATE sqlite_schema SET ${sql} WHERE ${where}`;
  return [
    ...triggers,
    [
      'trigger by another spelling',
      `CREATE TRIGGER lie BEFORE INSERT ON ${table.toUpperCase()} BEGIN SELECT RAISE(IGNORE); END`,
    ],
    [
      'trigger that is filed under another table',
      'CREATE TABLE theirs (id text)',
      `CREATE TRIGGER lie BEFORE INSERT ON ${table} BEGIN SELECT RAISE(IGNORE); END`,
      edited("tbl_name = 'theirs'", "name = 'lie'"),
    ],
    [
      'view in its place',
      'PRAGMA legacy_alter_table = ON',
      `ALTER TABLE ${table} RENAME TO hidden`,
      `CREATE VIEW ${table} AS SELECT * FROM hidden`,
    ],
    [
      'copy in its place',
      'PRAGMA legacy_alter_table = ON',
      `ALTER TABLE ${table} RENAME TO hidden`,
      `CREATE TABLE ${table} AS SELECT * FROM hidden`,
    ],
    ['removal', `DROP TABLE ${table}`],
    ['column', `ALTER TABLE ${table} ADD COLUMN lie text`],
    ['index', `CREATE INDEX lie ON ${table} (${first})`],
    [
      'index that is filed under another table',
      'CREATE TABLE theirs (id text)',
      `CREATE INDEX lie ON ${table} (${first})`,
      edited("tbl_name = 'theirs'", "name = 'lie'"),
    ],
    ['text', edited("sql = replace(sql, 'not null', '')  || ' '", `type = 'table' AND name = '${table}'`)],
    [
      'a second entry',
      `INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE type = 'table' AND name = '${table}'`,
    ],
    ...indexes.flatMap((index): Lie[] => [
      [`removed index ${index}`, `DROP INDEX ${index}`],
      [
        `partial index ${index}`,
        `DROP INDEX ${index}`,
        `CREATE INDEX ${index} ON ${table} (${first}) WHERE ${first} IS NULL`,
      ],
    ]),
  ];
}

export const liesAbout: Record<EngineName, (shape: Shape, turn: number) => Lie[]> = {
  postgres: onPostgres,
  sqlite: onSqlite,
};

/** About no single table. */
export const liesOfAll: Record<EngineName, readonly Lie[]> = {
  sqlite: [],
  postgres: [
    [
      'replaced function',
      "CREATE OR REPLACE FUNCTION next_position(of_table text) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
    ],
    ['function like a built-in one', "CREATE FUNCTION max(text) RETURNS text LANGUAGE sql AS 'SELECT $1'"],
    [
      'operator like a built-in one',
      "CREATE FUNCTION always(text, uuid) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
      'CREATE OPERATOR = (LEFTARG = text, RIGHTARG = uuid, FUNCTION = always)',
    ],
    ['generated expression', 'ALTER TABLE audit_logs ALTER COLUMN subject_revision DROP EXPRESSION'],
    [
      'another generated expression',
      'DROP INDEX audit_logs_of_subject',
      'ALTER TABLE audit_logs DROP COLUMN subject_revision',
      'ALTER TABLE audit_logs ADD COLUMN subject_revision integer GENERATED ALWAYS AS (1) STORED',
      'CREATE INDEX audit_logs_of_subject ON audit_logs (subject_id, subject_revision) WHERE subject_revision IS NOT NULL',
    ],
    ['setting of the role', "ALTER ROLE CURRENT_USER SET search_path = 'front', 'public'"],
    [
      'setting of the role that changes what texts mean',
      'ALTER ROLE CURRENT_USER SET standard_conforming_strings = off',
    ],
    [
      'setting of the database',
      "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = front, public', current_database()); END $$",
    ],
    ['default', "ALTER TABLE members ALTER COLUMN role SET DEFAULT 'owner'"],
    ['type', 'ALTER TABLE members ALTER COLUMN revision TYPE bigint'],
    ['optional column', 'ALTER TABLE members ALTER COLUMN role DROP NOT NULL'],
    ['table that a crash empties', 'ALTER TABLE unfiled SET UNLOGGED'],
    ['foreign reference', 'CREATE TABLE theirs (id uuid REFERENCES organizations (id))'],
  ],
};

const logTables = ['request_blocks', 'audit_logs'] as const;
const deleting = (table: string) => doing('swallow', `DELETE FROM ${table} WHERE id = NEW.id; RETURN NULL;`);

/** What keeps a log from keeping its entries; the last statements take it away again. */
export interface Swallowing {
  readonly kind: string;
  readonly begin: readonly string[];
  readonly end: readonly string[];
}

const swallowingOn: Record<EngineName, (table: string) => Swallowing[]> = {
  sqlite: table => {
    const end = ['DROP TRIGGER swallow'];
    return [
      {
        kind: 'ignores each entry',
        begin: [`CREATE TRIGGER swallow BEFORE INSERT ON ${table} BEGIN SELECT RAISE(IGNORE); END`],
        end,
      },
      {
        kind: 'removes each entry',
        begin: [
          `CREATE TRIGGER swallow AFTER INSERT ON ${table} BEGIN DELETE FROM ${table} WHERE id = NEW.id; END`,
        ],
        end,
      },
    ];
  },
  postgres: table => {
    const end = [`DROP TRIGGER swallow ON ${table}`, 'DROP FUNCTION swallow'];
    const trigger = (kind: string, made: string, what: string): Swallowing => ({
      kind,
      begin: [made, `CREATE ${what} FOR EACH ROW EXECUTE FUNCTION swallow()`],
      end,
    });
    return [
      trigger('returns nothing', nothing, `TRIGGER swallow BEFORE INSERT ON ${table}`),
      trigger('removes each entry', deleting(table), `TRIGGER swallow AFTER INSERT ON ${table}`),
      trigger(
        'removes each entry at the end',
        deleting(table),
        `CONSTRAINT TRIGGER swallow AFTER INSERT ON ${table} DEFERRABLE INITIALLY DEFERRED`,
      ),
      {
        kind: 'does nothing instead',
        begin: [`CREATE RULE swallow AS ON INSERT TO ${table} DO INSTEAD NOTHING`],
        end: [`DROP RULE swallow ON ${table}`],
      },
      {
        kind: 'hides each entry',
        begin: [
          `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`,
          `ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`,
          `CREATE POLICY swallow ON ${table} USING (false) WITH CHECK (true)`,
        ],
        end: [
          `DROP POLICY swallow ON ${table}`,
          `ALTER TABLE ${table} NO FORCE ROW LEVEL SECURITY`,
          `ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`,
        ],
      },
      {
        kind: 'is a view that keeps nothing',
        begin: [
          `ALTER TABLE ${table} RENAME TO hidden`,
          `CREATE VIEW ${table} AS SELECT * FROM hidden`,
          doing('swallow', 'RETURN NEW;'),
          `CREATE TRIGGER swallow INSTEAD OF INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION swallow()`,
        ],
        end: [`DROP VIEW ${table}`, 'DROP FUNCTION swallow', `ALTER TABLE hidden RENAME TO ${table}`],
      },
    ];
  },
};

export const swallowings = (engine: EngineName) =>
  logTables.flatMap(table => swallowingOn[engine](table).map(one => ({ table, ...one })));
