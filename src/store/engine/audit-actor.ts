/** Who acted, as an entry of the audit log says it: word for word what its index is over. */
import { type RawBuilder, sql } from 'kysely';
import type { Engine } from './engine.ts';

export function actorIn(engine: Engine['name']): RawBuilder<string> {
  return engine === 'postgres'
    ? sql<string>`entry::json #>> '{actor,id}'`
    : sql<string>`json_extract(entry, '$.actor.id')`;
}
