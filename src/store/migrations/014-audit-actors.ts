/** An index of audit entries by actor. No entry changes. */
import { sql } from 'kysely';
import { actorIn } from '../engine/audit-actor.ts';
import type { Step } from './step.ts';

export const auditActors: Step = async (db, types) => {
  const actor = actorIn(types.id === 'uuid' ? 'postgres' : 'sqlite');
  await sql`CREATE INDEX audit_logs_of_actor ON audit_logs (organization_id, (${actor}), id)`.execute(db);
};
