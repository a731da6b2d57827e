/** The id of the actor in an audit entry. The expression must match that of its index exactly. */
import { type RawBuilder, sql } from 'kysely';
import type { Engine } from './engine.ts';

export function actorIn(engine: Engine['name']): RawBuilder<string> {
  return engine === 'postgres'
    ? sql<string>`entry::json #>> '{actor,id}'`
    : sql<string>`json_extract(entry, '$.actor.id')`;
}
