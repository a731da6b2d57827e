/** Accounts and orders of ACME clients, and the nonces that they used. */
import type { Selectable } from 'kysely';
import { type Engine, isStored, type Statement, statement } from '../engine/engine.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { updateRevised } from '../integrity/revisions.ts';
import type { AcmeAccountTable, AcmeOrderTable } from '../schema/acme.ts';

export type AcmeAccountRow = Selectable<AcmeAccountTable>;
export type AcmeOrderRow = Selectable<AcmeOrderTable>;

export function acme({ db, commit }: Engine) {
  const accounts = () => db.selectFrom('acme_accounts').selectAll('acme_accounts').select(auditedRevision());
  const orders = () => db.selectFrom('acme_orders').selectAll('acme_orders').select(auditedRevision());

  return {
    account: (profileId: string, id: string): Promise<(AcmeAccountRow & Audited) | undefined> =>
      accounts().where('id', '=', id).where('profile_id', '=', profileId).executeTakeFirst(),

    accountByKey: (profileId: string, thumbprint: string): Promise<(AcmeAccountRow & Audited) | undefined> =>
      accounts().where('profile_id', '=', profileId).where('thumbprint', '=', thumbprint).executeTakeFirst(),

    insertAccount: (row: AcmeAccountRow): Statement => statement(db.insertInto('acme_accounts').values(row)),
    updateAccount: (row: AcmeAccountRow): Statement => updateRevised(db, 'acme_accounts', row),

    order: (accountId: string, id: string): Promise<(AcmeOrderRow & Audited) | undefined> =>
      orders().where('id', '=', id).where('account_id', '=', accountId).executeTakeFirst(),

    orderOf: (certificateId: string): Promise<(AcmeOrderRow & Audited) | undefined> =>
      orders().where('certificate_id', '=', certificateId).executeTakeFirst(),

    /** The finished order that replaced a certificate. */
    replacementOf: (certificateId: string): Promise<(AcmeOrderRow & Audited) | undefined> =>
      orders().where('replaces', '=', certificateId).where('state', '=', 'valid').executeTakeFirst(),

    insertOrder: (row: AcmeOrderRow): Statement => statement(db.insertInto('acme_orders').values(row)),
    updateOrder: (row: AcmeOrderRow): Statement => updateRevised(db, 'acme_orders', row),

    /** Returns false if it was used before, by any process. */
    spendNonce: (nonce: string, expires_at: number, now: number): Promise<boolean> =>
      isStored(
        commit([
          {
            statements: [
              statement(db.deleteFrom('used_challenges').where('expires_at', '<', now)),
              statement(db.insertInto('used_challenges').values({ challenge: nonce, expires_at })),
            ],
          },
        ]),
      ),

    removeIn: (vaultId: string): Statement[] => [
      statement(db.deleteFrom('acme_orders').where('vault_id', '=', vaultId)),
      statement(db.deleteFrom('acme_accounts').where('vault_id', '=', vaultId)),
    ],

    /** Deletes orders that expired before then; they remain in the audit log. Returns how many. */
    async forget(before: number, most: number): Promise<number> {
      const found = await db
        .selectFrom('acme_orders')
        .select('id')
        .where('expires_at', '<', before)
        .limit(most)
        .execute();
      if (found.length === 0) return 0;
      const ids = found.map(({ id }) => id);
      await commit([{ statements: [statement(db.deleteFrom('acme_orders').where('id', 'in', ids))] }]);
      return found.length;
    },
  };
}
