/**
 * Determines the schema that contains our tables, and makes all names resolve only there and in the catalogue, never in
 * a schema that a role, a database or another user of a pooled connection put in front. A dedicated connection sets its
 * search path once; behind a pooler each statement sets it in its own round trip. The schema is the one that contains
 * our tables, wherever the path leads; in an empty database it is the first in the path, as PostgreSQL would choose.
 */
import pg from 'pg';
import { StoreError } from '../engine/store-error.ts';

/** This runs before the search path is set, so every name is qualified. */
const asked = `SELECT pg_catalog.current_schemas(false)::pg_catalog.text[] AS path, ARRAY(
    SELECT n.nspname::pg_catalog.text FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
    WHERE c.relname OPERATOR(pg_catalog.=) 'kysely_migration'
      AND c.relkind OPERATOR(pg_catalog.=) 'r' AND c.relpersistence OPERATOR(pg_catalog.=) 'p') AS having`;

interface Schemas {
  /** The existing schemas in the session's path. */
  readonly path: readonly string[];
  /** The schemas that contain our tables. */
  readonly having: readonly string[];
}

/** `isNamed`: the URL itself specifies the schema. */
export async function schemaFor(client: pg.Client, isNamed: boolean): Promise<string> {
  const { rows } = await client.query(asked);
  const { path, having } = rows[0] as Schemas;
  if (!isNamed && having.length > 1)
    throw new StoreError(
      `several schemas of this database contain Strongroom’s tables (${having.join(', ')}): name one in the URL, as in ?options=-csearch_path%3D${having[0]}`,
    );
  const chosen = isNamed ? path[0] : (having[0] ?? path[0]);
  if (chosen === undefined)
    throw new StoreError('no schema of the search_path exists in this database: create one');
  return chosen;
}

/** The catalogue is searched first implicitly, and temporary tables last. */
export function pathTo(schema: string): string {
  return `"${schema.replaceAll('"', '""')}", pg_temp`;
}

/** At the beginning of a transaction. */
export function pinning(path: string): string {
  return `SET LOCAL search_path = ${path}`;
}

/** As an expression. `isLocal`: only for the transaction. */
export function settingPath(path: string, isLocal: boolean): string {
  return `pg_catalog.set_config('search_path', '${path.replaceAll("'", "''")}', ${isLocal})`;
}

/** These look up no names. A statement that begins a transaction sets the path itself. */
const isControl = (text: string) => /^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b/.test(text);

type Config = string | pg.QueryConfig;
type Done = (error: Error | null, result: pg.QueryResult) => void;

/** Whether a query, or several in the simple protocol, need not set the search path. */
export function needsNoPin(config: unknown): boolean {
  const { text, submit } =
    typeof config === 'string' ? { text: config } : (config as Partial<pg.QueryConfig & pg.Query>);
  return submit !== undefined || isControl(text ?? '');
}

/** Parts of the driver that its types leave out. */
interface Wire {
  parse(statement: { text: string }): void;
  bind(portal: object): void;
  execute(portal: object): void;
}
interface DriverQuery {
  queryMode: string;
  callback?: Done;
  query_timeout?: number;
  prepare(wire: Wire): void;
  handleCommandComplete(message: unknown, wire: Wire): void;
}
const Query = pg.Query as unknown as new (
  config: Config,
  values?: unknown,
  callback?: unknown,
) => DriverQuery;

/**
 * A statement preceded by one that sets the search path. The server treats both as one transaction until the end of the
 * round trip, so the path applies to this statement and to none after it.
 */
export class PinnedQuery extends Query {
  readonly #pin: string;
  #isPinned = false;

  constructor(path: string, config: Config, values?: unknown, callback?: unknown) {
    super(config, values, callback);
    // It selects no rows, so it returns nothing.
    this.#pin = `SELECT WHERE ${settingPath(path, true)} IS NULL`;
    this.queryMode = 'extended';
    if (typeof config === 'object' && 'query_timeout' in config)
      this.query_timeout = config.query_timeout as number;
  }

  override prepare(wire: Wire): void {
    wire.parse({ text: this.#pin });
    wire.bind({});
    wire.execute({});
    super.prepare(wire);
  }

  override handleCommandComplete(message: unknown, wire: Wire): void {
    if (this.#isPinned) super.handleCommandComplete(message, wire);
    this.#isPinned = true;
  }
}
