/** What a credential created is found by it: its children, and what a command line left behind. */
import { sql } from 'kysely';
import type { Step } from './step.ts';

export const madeCredentials: Step = async db => {
  await sql`CREATE INDEX credentials_made ON credentials (created_by)`.execute(db);
};
