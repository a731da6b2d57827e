/** An index of credentials by creator, to find a credential's children and what a CLI sign-in created. */
import { sql } from 'kysely';
import type { Step } from './step.ts';

export const madeCredentials: Step = async db => {
  await sql`CREATE INDEX credentials_made ON credentials (created_by)`.execute(db);
};
