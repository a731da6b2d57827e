/** Calls that need approval, or about which a person has decided. */
import { type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { type Page, type PageOf, pageOf } from '../engine/page.ts';
import { preparedRead } from '../engine/prepared.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { updateRevised } from '../integrity/revisions.ts';
import { livingVaults } from '../lists/resource-filter.ts';
import type { ApprovalTable } from '../schema/schema.ts';

export type ApprovalRow = Selectable<ApprovalTable>;
type AuditedApproval = ApprovalRow & Audited;

export interface ApprovalFilter {
  readonly organizationId: string;
  /** All vaults if undefined. */
  readonly vaultIds?: readonly string[] | undefined;
  /** Only approvals that are pending at this time. */
  readonly waitingAt?: number | undefined;
  readonly accessKeyIds?: readonly string[] | undefined;
}

export interface WaitingBound {
  readonly organizationId: string;
  readonly accessKeyId: string;
  readonly most: number;
  readonly now: number;
  /** The smallest id that an approval still pending now can have. */
  readonly firstId: string;
}

export function approvals({ db, commit, lists, name }: Engine) {
  const audited = (from = db) =>
    from.selectFrom('approvals').selectAll('approvals').select(auditedRevision());

  const ofAccessKey = preparedRead(db, ({ id, now }: { id: string; now: number }) =>
    audited().where('access_key_id', '=', id).where('expires_at', '>', now).orderBy('id'),
  );

  return {
    byId: (organizationId: string, id: string): Promise<AuditedApproval | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** An access key's approvals that have not expired, oldest first. */
    ofAccessKey: (id: string, now: number): Promise<AuditedApproval[]> => ofAccessKey({ id, now }),

    /** Those of these access keys that are pending, or approved and not used up. */
    openOf: async (ids: readonly string[], now: number, most: number): Promise<AuditedApproval[]> =>
      ids.length === 0
        ? []
        : audited()
            .where('access_key_id', 'in', [...ids])
            .where('expires_at', '>', now)
            .where('state', 'in', ['pending', 'approved'])
            .orderBy('id')
            .limit(most)
            .execute(),

    /** Only in vaults that are not deleted: without its vault, the description of a call can't be opened. */
    async page(
      { organizationId, vaultIds, waitingAt, accessKeyIds }: ApprovalFilter,
      page: Page,
    ): Promise<PageOf<AuditedApproval>> {
      let found = audited(lists)
        .where('organization_id', '=', organizationId)
        .where('vault_id', 'in', livingVaults(lists, organizationId).select('id'));
      if (vaultIds !== undefined) found = found.where('vault_id', 'in', vaultIds);
      if (accessKeyIds !== undefined) found = found.where('access_key_id', 'in', [...accessKeyIds]);
      if (waitingAt !== undefined)
        found = found.where('state', '=', 'pending').where('expires_at', '>', waitingAt);
      return pageOf(found, page);
    },

    /**
     * Requires that an access key and all that it created, even if revoked, have fewer than `most` calls pending;
     * otherwise the unit is refused as stale. The access key is locked first. The count is a separate statement, so
     * that it sees what earlier units stored.
     */
    fewerWaiting({ organizationId, accessKeyId, most, now, firstId }: WaitingBound): Statement[] {
      const locked = sql`SELECT 1 FROM credentials WHERE id = ${accessKeyId} FOR NO KEY UPDATE`;
      const count = sql`SELECT 1 WHERE (SELECT count(*) FROM approvals, credentials
        WHERE approvals.organization_id = ${organizationId} AND approvals.id >= ${firstId}
        AND approvals.state = 'pending' AND approvals.expires_at > ${now}
        AND credentials.id = approvals.access_key_id
        AND (credentials.id = ${accessKeyId} OR credentials.created_by = ${accessKeyId})) < ${most}`;
      const looks = name === 'postgres' ? [locked, count] : [count];
      return looks.map(look => statement({ compile: () => look.compile(db) }, { unless: 'stale' }));
    },

    insert: (row: ApprovalRow): Statement => statement(db.insertInto('approvals').values(row)),
    /** Refused as stale if another decision or use came first. */
    update: (row: ApprovalRow): Statement => updateRevised(db, 'approvals', row),

    /** Deletes approvals that expired before then; they remain in the audit log. Returns how many. */
    async forget(before: number, most: number): Promise<number> {
      const over = db.selectFrom('approvals').select('id').where('expires_at', '<', before).limit(most);
      const found = await over.execute();
      if (found.length === 0) return 0;
      const ids = found.map(({ id }) => id);
      await commit([{ statements: [statement(db.deleteFrom('approvals').where('id', 'in', ids))] }]);
      return found.length;
    },
  };
}
