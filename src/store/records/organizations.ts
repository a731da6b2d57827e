/** Organizations and their members. */
import { type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { containing, type Page, type PageOf, pageOf } from '../engine/page.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { removeRevised, updateRevised } from '../integrity/revisions.ts';
import type { MemberTable, OrganizationTable } from '../schema/schema.ts';
import { hasRole, type InVault } from './vault-roles.ts';

export type OrganizationRow = Selectable<OrganizationTable>;
export type MemberRow = Selectable<MemberTable>;

export function organizations(engine: Engine) {
  const { db, lists } = engine;
  const audited = () => db.selectFrom('organizations').selectAll('organizations').select(auditedRevision());
  const members = (organizationId: string, from = db) =>
    from
      .selectFrom('members')
      .where('organization_id', '=', organizationId)
      .selectAll('members')
      .select(auditedRevision());

  return {
    byId: (id: string): Promise<(OrganizationRow & Audited) | undefined> =>
      audited().where('id', '=', id).executeTakeFirst(),

    byName: (name: string): Promise<(OrganizationRow & Audited) | undefined> =>
      audited().where('name', '=', name).executeTakeFirst(),

    all: (): Promise<(OrganizationRow & Audited)[]> => audited().orderBy('id').execute(),

    insert: (row: OrganizationRow): Statement => statement(db.insertInto('organizations').values(row)),

    update: (row: OrganizationRow): Statement => updateRevised(db, 'organizations', row),

    member: (organizationId: string, id: string): Promise<(MemberRow & Audited) | undefined> =>
      members(organizationId).where('id', '=', id).executeTakeFirst(),

    memberByEmail: (organizationId: string, emailKey: string): Promise<(MemberRow & Audited) | undefined> =>
      members(organizationId).where('email_key', '=', emailKey).executeTakeFirst(),

    async memberPage(
      organizationId: string,
      page: Page,
      { q, inVault }: { q?: string | undefined; inVault?: InVault | undefined } = {},
    ): Promise<PageOf<MemberRow & Audited>> {
      let found = members(organizationId, lists);
      if (inVault !== undefined) found = found.where(hasRole(engine, 'members.grants', inVault));
      if (q !== undefined) found = found.where(sql<boolean>`email_key LIKE ${containing(q)} ESCAPE '\\'`);
      return pageOf(found, page);
    },

    /** Members with a role in the organization, in a vault, or in a group that has one; the caller must check each. */
    async peoplePage(
      organizationId: string,
      page: Page,
      { q, inVault }: { q: string | undefined; inVault: InVault },
    ): Promise<PageOf<MemberRow & Audited>> {
      const isNamed = hasRole(engine, 'members.grants', inVault);
      const inGroup = sql`EXISTS (SELECT 1 FROM member_groups g WHERE g.organization_id = ${organizationId}
        AND (g.member_ids LIKE '%' || members.id || '%' OR g.signed_on_ids LIKE '%' || members.id || '%')
        AND ${hasRole(engine, 'g.grants', inVault)})`;
      let found = members(organizationId, lists).where(
        sql<boolean>`(role <> 'none' OR ${isNamed} OR ${inGroup})`,
      );
      if (q !== undefined) found = found.where(sql<boolean>`email_key LIKE ${containing(q)} ESCAPE '\\'`);
      return pageOf(found, page);
    },

    /** Whether any member of any organization has joined. */
    hasJoined: async (): Promise<boolean> =>
      (await db.selectFrom('members').select('id').where('state', '=', 'active').limit(1).execute()).length >
      0,

    insertMember: (row: MemberRow): Statement => statement(db.insertInto('members').values(row)),

    updateMember: (row: MemberRow): Statement => updateRevised(db, 'members', row),

    removeMember: (id: string, revision: number): Statement => removeRevised(db, 'members', { id, revision }),
  };
}
