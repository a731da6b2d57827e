/** The database behind a service's back, as someone sees and writes it who has the storage but no key. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import type { Service } from './harness.ts';

async function query(
  service: Pick<Service, 'data' | 'databaseUrl'>,
  sql: string,
): Promise<Record<string, unknown>[]> {
  if (service.databaseUrl === null) {
    const file = new DatabaseSync(join(service.data, 'strongroom.db'), { timeout: 5_000 });
    try {
      return file.prepare(sql).all();
    } finally {
      file.close();
    }
  }
  const client = new pg.Client(service.databaseUrl);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The first column of what is found, as bytes. */
export async function storedBytes(
  service: Pick<Service, 'data' | 'databaseUrl'>,
  sql: string,
): Promise<Buffer[]> {
  const rows = await query(service, sql);
  return rows.map(row => Buffer.from(Object.values(row)[0] as Uint8Array | string));
}

export async function write(service: Pick<Service, 'data' | 'databaseUrl'>, sql: string): Promise<void> {
  await query(service, sql);
}
