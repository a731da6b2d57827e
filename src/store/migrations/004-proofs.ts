/**
 * An account's identity at the single sign-on issuer, and when a session's person last reauthenticated. Null in
 * existing rows, whose stamps don't cover the columns while they are null.
 */
import type { Step } from './step.ts';

export const proofs: Step = async (db, types) => {
  await db.schema.alterTable('accounts').addColumn('oidc_issuer', 'text').execute();
  await db.schema.alterTable('accounts').addColumn('oidc_subject', 'text').execute();
  await db.schema
    .createIndex('accounts_of_identity')
    .on('accounts')
    .columns(['oidc_issuer', 'oidc_subject'])
    .execute();
  await db.schema.alterTable('sessions').addColumn('proven_at', types.time).execute();
};
