/** Calls that wait for a person, or that one decided about. */
import type { Selectable } from 'kysely';
import { type Audited, auditedRevision } from './audited.ts';
import { type Engine, type Statement, statement } from './engine.ts';
import { type Page, type PageOf, pageOf } from './page.ts';
import { preparedRead } from './prepared.ts';
import { updateRevised } from './revisions.ts';
import type { ApprovalTable } from './schema.ts';

export type ApprovalRow = Selectable<ApprovalTable>;
export type AuditedApproval = ApprovalRow & Audited;

export interface ApprovalFilter {
  readonly organizationId: string;
  /** All of them where it is undefined. */
  readonly vaultIds?: readonly string[] | undefined;
  /** Those alone that wait at this moment. */
  readonly waitingAt?: number | undefined;
}

export function approvals({ db, commit, lists }: Engine) {
  const audited = (from = db) =>
    from.selectFrom('approvals').selectAll('approvals').select(auditedRevision('approvals'));

  const ofAccessKey = preparedRead(db, ({ id, now }: { id: string; now: number }) =>
    audited().where('access_key_id', '=', id).where('expires_at', '>', now).orderBy('id'),
  );

  const livingVaults = (organizationId: string) =>
    lists
      .selectFrom('resources')
      .select('id')
      .where('organization_id', '=', organizationId)
      .where('type', '=', 'vault')
      .where('deleted_at', 'is', null);

  return {
    byId: (organizationId: string, id: string): Promise<AuditedApproval | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** Those of an access key that are not over, the oldest first. */
    ofAccessKey: (id: string, now: number): Promise<AuditedApproval[]> => ofAccessKey({ id, now }),

    /** Of vaults that are there: with a vault, what is shown of a call is out of reach. */
    async page(
      { organizationId, vaultIds, waitingAt }: ApprovalFilter,
      page: Page,
    ): Promise<PageOf<AuditedApproval>> {
      let found = audited(lists)
        .where('organization_id', '=', organizationId)
        .where('vault_id', 'in', livingVaults(organizationId));
      if (vaultIds !== undefined) found = found.where('vault_id', 'in', vaultIds);
      if (waitingAt !== undefined)
        found = found.where('state', '=', 'pending').where('expires_at', '>', waitingAt);
      return pageOf(found, page);
    },

    insert: (row: ApprovalRow): Statement => statement(db.insertInto('approvals').values(row)),
    /** Refused as stale where somebody else decided about it, or used it, meanwhile. */
    update: (row: ApprovalRow): Statement => updateRevised(db, 'approvals', row),

    /** What was over before then; the audit log tells of it. Says how many. */
    async forget(before: number, most: number): Promise<number> {
      const over = db.selectFrom('approvals').select('id').where('expires_at', '<', before).limit(most);
      const found = await over.execute();
      if (found.length === 0) return 0;
      const remove = db.deleteFrom('approvals').where(
        'id',
        'in',
        found.map(({ id }) => id),
      );
      await commit([{ statements: [statement(remove)] }]);
      return found.length;
    },
  };
}
