/** What a step of the migrations says to an engine, without one: the very texts, in their order. */
import {
  type Dialect,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteQueryCompiler,
} from 'kysely';
import { columnTypes, type EngineName, steps } from '../src/store/migrations/migrations.ts';

const dialects: Record<EngineName, Pick<Dialect, 'createAdapter' | 'createQueryCompiler'>> = {
  sqlite: {
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
  postgres: {
    createAdapter: () => new PostgresAdapter(),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
};

export async function statementsOf(step: string, engine: EngineName): Promise<string[]> {
  const said: string[] = [];
  const dialect: Dialect = {
    ...dialects[engine],
    createDriver: () => new DummyDriver(),
    createIntrospector: () => {
      throw new Error('a step that looks at the database has no fixed text');
    },
  };
  const db = new Kysely<unknown>({ dialect, log: ({ query }) => void said.push(query.sql) });
  await steps[step]!(db, columnTypes[engine]);
  await db.destroy();
  return said;
}
