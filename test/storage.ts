/** The database behind a service's back, as someone reads and writes it who has the storage but no key. */
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import pg from 'pg';
import type { Service } from './harness.ts';

export type Row = Record<string, SQLInputValue>;
type Place = Pick<Service, 'data' | 'databaseUrl'>;

export interface Storage {
  /** Everything that SQL can do; a value stands for each question mark. */
  sql(text: string, ...values: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export async function openStorage({ data, databaseUrl }: Place): Promise<Storage> {
  if (databaseUrl === null) {
    const file = new DatabaseSync(join(data, 'strongroom.db'), { timeout: 10_000, defensive: false });
    return {
      sql: async (text, ...values) => file.prepare(text).all(...(values as SQLInputValue[])) as Row[],
      close: async () => file.close(),
    };
  }
  const client = new pg.Client(databaseUrl);
  await client.connect();
  return {
    sql: async (text, ...values) => {
      let number = 0;
      const numbered = values.length === 0 ? text : text.replace(/\?/g, () => `$${++number}`);
      return (await client.query(numbered, [...values])).rows;
    },
    close: () => client.end(),
  };
}

/** One statement, on a connection of its own. */
export async function inDatabase(
  service: Place,
  text: string,
  ...values: readonly unknown[]
): Promise<Row[]> {
  const storage = await openStorage(service);
  try {
    return await storage.sql(text, ...values);
  } finally {
    await storage.close();
  }
}

/** The first column of what is found, as bytes. */
export async function storedBytes(service: Place, sql: string): Promise<Buffer[]> {
  const rows = await inDatabase(service, sql);
  return rows.map(row => Buffer.from(Object.values(row)[0] as Uint8Array | string));
}
