/** Groups of members who share the same roles in the same vaults. */
import { type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { containing, type Page, type PageOf, pageOf } from '../engine/page.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { removeRevised, updateRevised } from '../integrity/revisions.ts';
import type { MemberGroupTable } from '../schema/schema.ts';
import { hasRole, type InVault } from './vault-roles.ts';

export type MemberGroupRow = Selectable<MemberGroupTable>;
type AuditedGroup = MemberGroupRow & Audited;

export function memberGroups(engine: Engine) {
  const { db, lists } = engine;
  const audited = (organizationId: string, from = db) =>
    from
      .selectFrom('member_groups')
      .where('organization_id', '=', organizationId)
      .selectAll('member_groups')
      .select(auditedRevision());

  return {
    byId: (organizationId: string, id: string): Promise<AuditedGroup | undefined> =>
      audited(organizationId).where('id', '=', id).executeTakeFirst(),

    all: (organizationId: string): Promise<AuditedGroup[]> => audited(organizationId).orderBy('id').execute(),

    /**
     * The groups that a member is in. The match is by text, so it may include others, and the caller must check each
     * row.
     */
    naming: (organizationId: string, memberId: string): Promise<AuditedGroup[]> =>
      audited(organizationId)
        .where(({ or, eb }) =>
          or([eb('member_ids', 'like', `%${memberId}%`), eb('signed_on_ids', 'like', `%${memberId}%`)]),
        )
        .orderBy('id')
        .execute(),

    async page(
      organizationId: string,
      page: Page,
      { q, inVault }: { q?: string | undefined; inVault?: InVault | undefined } = {},
    ): Promise<PageOf<AuditedGroup>> {
      let found = audited(organizationId, lists);
      if (q !== undefined) found = found.where(sql<boolean>`name_search LIKE ${containing(q)} ESCAPE '\\'`);
      if (inVault !== undefined) found = found.where(hasRole(engine, 'member_groups.grants', inVault));
      return pageOf(found, page);
    },

    insert: (row: MemberGroupRow): Statement => statement(db.insertInto('member_groups').values(row)),

    update: (row: MemberGroupRow): Statement => updateRevised(db, 'member_groups', row),

    remove: (id: string, revision: number): Statement => removeRevised(db, 'member_groups', { id, revision }),
  };
}
