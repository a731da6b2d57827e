/** Requests of members for a role in a vault. */
import type { Selectable } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { type Page, type PageOf, pageOf } from '../engine/page.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { updateRevised } from '../integrity/revisions.ts';
import { livingVaults } from '../lists/resource-filter.ts';
import type { RoleRequestTable } from '../schema/people.ts';

export type RoleRequestRow = Selectable<RoleRequestTable>;
type AuditedRequest = RoleRequestRow & Audited;

export function roleRequests({ db, commit, lists }: Engine) {
  const audited = (from = db) =>
    from.selectFrom('role_requests').selectAll('role_requests').select(auditedRevision());

  return {
    byId: (organizationId: string, id: string): Promise<AuditedRequest | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** A member's own, the newest first. */
    ofMember: (memberId: string, most: number): Promise<AuditedRequest[]> =>
      audited().where('member_id', '=', memberId).orderBy('id', 'desc').limit(most).execute(),

    /** Those of members who have not been removed, about vaults that have not been deleted. */
    async page(
      organizationId: string,
      page: Page,
      waitingAt: number | undefined,
    ): Promise<PageOf<AuditedRequest>> {
      const members = lists.selectFrom('members').select('id').where('organization_id', '=', organizationId);
      let found = audited(lists)
        .where('organization_id', '=', organizationId)
        .where('member_id', 'in', members)
        .where('vault_id', 'in', livingVaults(lists, organizationId).select('id'));
      if (waitingAt !== undefined)
        found = found.where('state', '=', 'pending').where('expires_at', '>', waitingAt);
      return pageOf(found, page);
    },

    insert: (row: RoleRequestRow): Statement => statement(db.insertInto('role_requests').values(row)),
    /** Refused as stale if another decision came first. */
    update: (row: RoleRequestRow): Statement => updateRevised(db, 'role_requests', row),

    /** Deletes requests that expired before then; they remain in the audit log. Returns how many. */
    async forget(before: number, most: number): Promise<number> {
      const over = db.selectFrom('role_requests').select('id').where('expires_at', '<', before).limit(most);
      const ids = (await over.execute()).map(({ id }) => id);
      if (ids.length > 0)
        await commit([{ statements: [statement(db.deleteFrom('role_requests').where('id', 'in', ids))] }]);
      return ids.length;
    },
  };
}
