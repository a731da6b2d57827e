/** The table `meta`: single values, each by its name. */
import type { Kysely } from 'kysely';
import type { Schema } from '../schema/schema.ts';
import { type Statement, statement } from './engine.ts';

type Value = Schema['meta']['value'];

export async function metaValue(db: Kysely<Schema>, key: string): Promise<Value | undefined> {
  return (await db.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirst())?.value;
}

export function setMeta(db: Kysely<Schema>, key: string, value: Value): Statement {
  const insert = db.insertInto('meta').values({ key, value });
  return statement(insert.onConflict(on => on.column('key').doUpdateSet({ value })));
}

/** Changes nothing if the value is another. */
export function replacingMeta(db: Kysely<Schema>, key: string, before: Value, after: Value) {
  return db.updateTable('meta').set({ value: after }).where('key', '=', key).where('value', '=', before);
}
