/** Which templates refer to which secrets. An index: what a template refers to is in its own stamped row. */
import { sql } from 'kysely';
import { type Columns, type Engine, type Statement, statement } from '../engine/engine.ts';
import { preparedRead } from '../engine/prepared.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { inLivingVault } from '../lists/resource-filter.ts';
import { each } from '../schema/common.ts';
import type { ResourceRow } from './resource-changes.ts';

const referenceColumns: Columns<'secret_references'> = each('uuid', 'referrer_id', 'target_id');

export function references({ db, lists, insertingInto }: Engine) {
  const insert = insertingInto('secret_references', referenceColumns);
  const anyTo = preparedRead(db, ({ targetId }: { targetId: string }) =>
    db.selectFrom('secret_references').select('referrer_id').where('target_id', '=', targetId).limit(1),
  );

  return {
    add: (referrerId: string, targetIds: readonly string[]): Statement =>
      insert(targetIds.map(target_id => ({ referrer_id: referrerId, target_id }))),

    remove: (referrerId: string): Statement =>
      statement(db.deleteFrom('secret_references').where('referrer_id', '=', referrerId)),

    /** The templates outside the trash that refer to a secret, newest first, after an id if one is given. */
    referrers: (
      targetId: string,
      beforeId: string | undefined,
      limit: number,
    ): Promise<(ResourceRow & Audited)[]> => {
      const found = lists
        .selectFrom('resources')
        .innerJoin('secret_references', 'secret_references.referrer_id', 'resources.id')
        .where('secret_references.target_id', '=', targetId)
        .where(inLivingVault)
        .where('resources.deleted_at', 'is', null)
        .selectAll('resources')
        .select(auditedRevision())
        .orderBy('secret_references.referrer_id', 'desc')
        .limit(limit);
      return (
        beforeId === undefined ? found : found.where('secret_references.referrer_id', '<', beforeId)
      ).execute();
    },

    hasReferrers: async (targetId: string): Promise<boolean> => (await anyTo({ targetId })).length > 0,

    /** Whether a template of another vault refers to a secret of this one. */
    hasReferrersInto: async (vaultId: string): Promise<boolean> => {
      const query = sql`SELECT 1 FROM resources AS target
        JOIN secret_references ON secret_references.target_id = target.id
        JOIN resources AS referrer ON referrer.id = secret_references.referrer_id
        WHERE target.vault_id = ${vaultId} AND referrer.vault_id <> target.vault_id LIMIT 1`;
      return (await query.execute(lists)).rows.length > 0;
    },

    /** The templates of other vaults that refer to secrets of this one, with these secrets, newest first. */
    intoVault: (vaultId: string, limit: number): Promise<(ResourceRow & Audited & { target_id: string })[]> =>
      lists
        .selectFrom('resources as target')
        .innerJoin('secret_references', 'secret_references.target_id', 'target.id')
        .innerJoin('resources', 'resources.id', 'secret_references.referrer_id')
        .where('target.vault_id', '=', vaultId)
        .where('resources.vault_id', '<>', vaultId)
        .where(inLivingVault)
        .where('resources.deleted_at', 'is', null)
        .selectAll('resources')
        .select(['secret_references.target_id', auditedRevision()])
        .orderBy('secret_references.referrer_id', 'desc')
        .limit(limit)
        .execute(),

    /** The length of the longest chain of references that ends at a secret, up to one more than `most`. */
    chainTo: async (targetId: string, most: number): Promise<number> => {
      if ((await anyTo({ targetId })).length === 0) return 0;
      const query = sql<{ length: number | null }>`WITH RECURSIVE above (id, length) AS (
          SELECT referrer_id, 1 FROM secret_references WHERE target_id = ${targetId}
          UNION
          SELECT secret_references.referrer_id, above.length + 1 FROM secret_references
            JOIN above ON secret_references.target_id = above.id WHERE above.length <= ${most})
        SELECT max(length) AS length FROM above`;
      return Number((await query.execute(lists)).rows[0]!.length ?? 0);
    },
  };
}
