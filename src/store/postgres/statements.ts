/**
 * Formats statements for PostgreSQL: many rows as one statement, and several statements as one round trip. Positions
 * are reserved after everything else, so that replicas don't deadlock, and the lock is held as briefly as possible.
 */
import type pg from 'pg';
import { type Engine, refuseNul, type Statement, takingFor } from '../engine/engine.ts';
import { durably } from './durability.ts';

export const insertingInto: Engine['insertingInto'] = (table, columns, onConflict = '') => {
  const names = Object.keys(columns) as (keyof typeof columns)[];
  const list = names.join(', ');
  const arrays = Object.values(columns).map((type, index) => `$${index + 1}::${type}[]`);
  const count = `cardinality(${arrays[0]})`;
  const taking = takingFor(table, count);
  const only = logTables.has(table) ? `WHERE ${logsKeepWhatTheyGet}` : '';
  const sql =
    taking === undefined
      ? `INSERT INTO ${table} (${list}) SELECT * FROM unnest(${arrays.join(', ')}) ${only} ${onConflict}`
      : // If no position was reserved it is null, and the table refuses the row.
        `INSERT INTO ${table} (${list}, position) SELECT ${list}, (SELECT position FROM taken) - ${count} + nth
          FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS given (${list}, nth) ${only} ${onConflict}`;
  return rows => {
    const parameters = names.map(name => rows.map(row => row[name]));
    refuseNul(parameters);
    return taking === undefined ? { sql, parameters } : { sql, parameters, taking };
  };
};

/** Tables that must be written before a request is answered. */
const logTables: ReadonlySet<string> = new Set(['request_blocks', 'audit_logs']);

/**
 * Triggers and rules could remove a row that was just stored, even at the end of the transaction. None can be added to
 * the table during the transaction, because the statement locks it before it checks. Both logs are checked: hiding an
 * entry of the audit log could make a revoked credential valid again, and each read is stored in the request log.
 */
const logsKeepWhatTheyGet = (() => {
  const has = (flag: string, catalogue: string, column: string) =>
    `(kept.${flag} AND EXISTS (SELECT FROM pg_catalog.${catalogue} WHERE ${column} = kept.oid))`;
  const tables = [...logTables].map(table => `'${table}'::regclass`);
  return `(SELECT count(*) FROM pg_catalog.pg_class kept WHERE kept.oid IN (${tables.join(', ')})
    AND kept.relkind = 'r' AND NOT kept.relrowsecurity
    AND NOT ${has('relhastriggers', 'pg_trigger', 'tgrelid')}
    AND NOT ${has('relhasrules', 'pg_rewrite', 'ev_class')}) = ${tables.length}`;
})();

/**
 * A single statement. If it reserves positions it is prepared, because planning it is costly, and there are only as
 * many texts as tables.
 */
export function single({ sql, parameters, taking }: Statement, isNamed: boolean): pg.QueryConfig {
  const values = [...parameters];
  if (taking === undefined) return { text: sql, values };
  return prepared(`WITH taken AS (${taking} RETURNING position) ${sql}`, values, isNamed);
}

/** The error of a combined statement that stored an unexpected number of rows. */
export const storedOtherwise = '22012';

/** Combines independent statements into one. If any of them does not store the expected rows, none does. */
export function combined(statements: readonly Statement[], isNamed: boolean): pg.QueryConfig {
  const counted = statements.flatMap(({ expect }, index) =>
    expect === undefined ? [] : [`(SELECT count(*) FROM s${index}) = ${expect}`],
  );
  const check = counted.length === 0 ? '' : `, 1 / CASE WHEN ${counted.join(' AND ')} THEN 1 ELSE 0 END`;
  const text = `WITH ${partsOf(statements).join(', ')} ${durably}${check}`;
  const values = statements.flatMap(statement => statement.parameters);
  return prepared(text, values, isNamed);
}

const preparedAs = new Map<string, string>();

/** Prepares the statement once per connection, if prepared statements persist there. */
function prepared(text: string, values: unknown[], isNamed: boolean): pg.QueryConfig {
  if (!isNamed) return { text, values };
  if (!preparedAs.has(text)) preparedAs.set(text, `strongroom ${preparedAs.size}`);
  return { name: preparedAs.get(text)!, text, values };
}

/**
 * PostgreSQL chooses the order, except that the statement that reserves positions depends on the results of all before
 * it.
 */
function partsOf(statements: readonly Statement[]): string[] {
  const takes = statements.findIndex(({ taking }) => taking !== undefined);
  let before = 0;
  return statements.flatMap(({ sql, parameters, taking, expect }, index) => {
    const shift = before;
    const shifted = (text: string) => text.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + shift}`);
    before += parameters.length;
    const part = `s${index} AS (${shifted(sql)}${index < takes || expect !== undefined ? ' RETURNING 1' : ''})`;
    if (taking === undefined) return part;
    const done = statements.slice(0, index).map((_, other) => ` AND (SELECT count(*) FROM s${other}) >= 0`);
    return [`taken AS (${shifted(taking)}${done.join('')} RETURNING position)`, part];
  });
}
