/** Events, stored with the change that they tell of, and delivered later. */
import type { Selectable } from 'kysely';
import { type Engine, type Statement, statement } from './engine.ts';
import type { EventTable } from './schema.ts';

export type EventRow = Selectable<EventTable>;

export function outbox({ db }: Engine) {
  return {
    add: (row: EventRow): Statement => statement(db.insertInto('events').values(row)),
  };
}
