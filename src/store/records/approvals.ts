/** Calls that wait for a person, or that one decided about. */
import { type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { type Page, type PageOf, pageOf } from '../engine/page.ts';
import { preparedRead } from '../engine/prepared.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { updateRevised } from '../integrity/revisions.ts';
import type { ApprovalTable } from '../schema/schema.ts';

export type ApprovalRow = Selectable<ApprovalTable>;
export type AuditedApproval = ApprovalRow & Audited;

export interface ApprovalFilter {
  readonly organizationId: string;
  /** All of them where it is undefined. */
  readonly vaultIds?: readonly string[] | undefined;
  /** Those alone that wait at this moment. */
  readonly waitingAt?: number | undefined;
}

export interface WaitingBound {
  readonly organizationId: string;
  readonly accessKeyId: string;
  readonly most: number;
  readonly now: number;
  /** Of those that can still wait now. */
  readonly firstId: string;
}

export function approvals({ db, commit, lists, name }: Engine) {
  const audited = (from = db) =>
    from.selectFrom('approvals').selectAll('approvals').select(auditedRevision());

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

    /**
     * Fewer than so many wait of an access key and of all that it created, whatever became of those; else the unit is
     * refused as stale. The access key is locked first, and counted by a statement of its own, which then sees what
     * those before it stored.
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
