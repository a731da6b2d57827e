/** Fills an empty PostgreSQL database in one transaction. Nothing is visible to others until it is committed. */
import { countOn, type Loader, lastStep } from '../dump/loading.ts';
import type { TableShape } from '../dump/tables.ts';
import { readingEngine } from '../engine/engine.ts';
import { StoreError } from '../engine/store-error.ts';
import { columns } from '../integrity/stamp-columns.ts';
import { migrate } from '../migrations/migrations.ts';
import { durably } from './durability.ts';
import { type PostgresPlace, PostgresServers } from './servers.ts';
import { openTransaction } from './transaction.ts';

/** Creating a large index can take long. */
const longestStatement = 3_600_000;
/** If several replicas are started with a restore, only one performs it. */
const restoreLock = 7_231_984_311;

export async function openPostgresLoader(place: PostgresPlace): Promise<Loader> {
  const servers = new PostgresServers(place);
  const { client, db } = await openTransaction(servers, '', longestStatement);
  const end = () => client.end();
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [restoreLock]);
    await client.query(durably);
    const taken = await client.query(
      'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL',
      [['kysely_migration', ...Object.keys(columns)]],
    );
    if (taken.rows.length > 0)
      throw new StoreError(`the database is not empty: it contains the table ${taken.rows[0].name}`);
  } catch (error) {
    await end();
    throw error;
  }
  return {
    engine: readingEngine('postgres', db, async () => {}),
    create: schema => migrate(db, 'postgres', { upTo: lastStep(schema)!, inTransaction: true }),
    insert: async ({ name, columns }, rows) => {
      if (rows.length === 0) return;
      const parameters = columns.map((_, at) => rows.map(row => row[at]));
      const text = insertSql({ name, columns });
      await client.query({ ...(!servers.isPooled && { name: `load ${name}` }), text, values: parameters });
    },
    complete: async () => {
      await migrate(db, 'postgres', { inTransaction: true });
      for (const statement of countOn) await client.query(statement);
    },
    finish: async () => {
      await client.query('COMMIT');
      await end();
    },
    discard: end,
  };
}

function insertSql({ name, columns }: TableShape): string {
  const names = columns.map(column => `"${column.name}"`).join(', ');
  const arrays = columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ');
  return `INSERT INTO ${name} (${names}) SELECT * FROM unnest(${arrays})`;
}
