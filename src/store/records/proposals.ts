/** Writes that wait for someone else to confirm them, or about which someone has decided. */
import type { Selectable } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { type Page, type PageOf, pageOf } from '../engine/page.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { updateRevised } from '../integrity/revisions.ts';
import type { ProposalTable } from '../schema/schema.ts';

export type ProposalRow = Selectable<ProposalTable>;
type AuditedProposal = ProposalRow & Audited;

export interface ProposalFilter {
  readonly organizationId: string;
  /** All vaults if undefined. */
  readonly vaultIds?: readonly string[] | undefined;
  /** Only proposals that are pending at this time. */
  readonly waitingAt?: number | undefined;
}

export function proposals({ db, commit, lists }: Engine) {
  const audited = (from = db) =>
    from.selectFrom('proposals').selectAll('proposals').select(auditedRevision());

  return {
    byId: (organizationId: string, id: string): Promise<AuditedProposal | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    async page(
      { organizationId, vaultIds, waitingAt }: ProposalFilter,
      page: Page,
    ): Promise<PageOf<AuditedProposal>> {
      let found = audited(lists).where('organization_id', '=', organizationId);
      if (vaultIds !== undefined) found = found.where('vault_id', 'in', vaultIds);
      if (waitingAt !== undefined)
        found = found.where('state', '=', 'pending').where('expires_at', '>', waitingAt);
      return pageOf(found, page);
    },

    /** The authors of those that are pending in a vault, up to `most`. */
    pendingIn: (
      vaultId: string,
      now: number,
      most: number,
    ): Promise<Pick<ProposalRow, 'author_kind' | 'author_id'>[]> =>
      db
        .selectFrom('proposals')
        .select(['author_kind', 'author_id'])
        .where('vault_id', '=', vaultId)
        .where('state', '=', 'pending')
        .where('expires_at', '>', now)
        .limit(most)
        .execute(),

    /** Those that nobody decided before they expired. */
    expired: (before: number, most: number): Promise<AuditedProposal[]> =>
      audited()
        .where('expires_at', '<=', before)
        .where('state', '=', 'pending')
        .orderBy('expires_at')
        .limit(most)
        .execute(),

    insert: (row: ProposalRow): Statement => statement(db.insertInto('proposals').values(row)),
    /** Refused as stale if another decision came first. */
    update: (row: ProposalRow): Statement => updateRevised(db, 'proposals', row),
    /** For a vault that is deleted permanently. */
    removeIn: (vaultId: string): Statement =>
      statement(db.deleteFrom('proposals').where('vault_id', '=', vaultId)),

    /** Deletes proposals that expired before then; they remain in the audit log. Returns how many. */
    async forget(before: number, most: number): Promise<number> {
      const over = db.selectFrom('proposals').select('id').where('expires_at', '<', before).limit(most);
      const found = await over.execute();
      if (found.length === 0) return 0;
      const ids = found.map(({ id }) => id);
      await commit([{ statements: [statement(db.deleteFrom('proposals').where('id', 'in', ids))] }]);
      return found.length;
    },
  };
}
