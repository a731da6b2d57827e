/** Organizations and their members. */
import { type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from './engine.ts';
import { containing, offsetOf, type Page, type PageOf } from './page.ts';
import type { MemberTable, OrganizationTable } from './schema.ts';

export type OrganizationRow = Selectable<OrganizationTable>;
export type MemberRow = Selectable<MemberTable>;

export interface Audited {
  /** The newest revision that the audit log knows of; another than the row's own means tampering. */
  readonly audited_revision: number | null;
}

export function organizations({ db }: Engine) {
  const audited = () =>
    db
      .selectFrom('organizations')
      .selectAll('organizations')
      .select(eb =>
        eb
          .selectFrom('audit_logs')
          .whereRef('subject_id', '=', 'organizations.id')
          .where('subject_revision', 'is not', null)
          .select(({ fn }) => fn.max('subject_revision').as('newest'))
          .as('audited_revision'),
      );
  const members = (organizationId: string) =>
    db
      .selectFrom('members')
      .where('organization_id', '=', organizationId)
      .where('state', '<>', 'removed')
      .selectAll('members')
      .select(eb =>
        eb
          .selectFrom('audit_logs')
          .whereRef('subject_id', '=', 'members.id')
          .where('subject_revision', 'is not', null)
          .select(({ fn }) => fn.max('subject_revision').as('newest'))
          .as('audited_revision'),
      );

  return {
    byId: (id: string): Promise<(OrganizationRow & Audited) | undefined> =>
      audited().where('id', '=', id).executeTakeFirst(),

    byName: (name: string): Promise<(OrganizationRow & Audited) | undefined> =>
      audited().where('name', '=', name).executeTakeFirst(),

    all: (): Promise<(OrganizationRow & Audited)[]> => audited().orderBy('id').execute(),

    insert: (row: OrganizationRow): Statement => statement(db.insertInto('organizations').values(row)),

    update: (row: OrganizationRow): Statement =>
      statement(
        db
          .updateTable('organizations')
          .set(row)
          .where('id', '=', row.id)
          .where('revision', '=', row.revision - 1),
        { expect: 1 },
      ),

    member: (organizationId: string, id: string): Promise<(MemberRow & Audited) | undefined> =>
      members(organizationId).where('id', '=', id).executeTakeFirst(),

    async memberPage(organizationId: string, page: Page, q?: string): Promise<PageOf<MemberRow & Audited>> {
      let found = members(organizationId);
      if (q !== undefined) found = found.where(sql<boolean>`email_key LIKE ${containing(q)} ESCAPE '\\'`);
      if (page.asOf !== undefined) found = found.where('id', '<=', page.asOf);
      const { total } = await found
        .clearSelect()
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      const rows = await found.orderBy('id', 'desc').limit(page.limit).offset(offsetOf(page)).execute();
      return { rows, total };
    },

    insertMember: (row: MemberRow): Statement => statement(db.insertInto('members').values(row)),

    updateMember: (row: MemberRow): Statement =>
      statement(
        db
          .updateTable('members')
          .set(row)
          .where('id', '=', row.id)
          .where('revision', '=', row.revision - 1),
        { expect: 1 },
      ),

    removeMember: (id: string, revision: number): Statement =>
      statement(db.deleteFrom('members').where('id', '=', id).where('revision', '=', revision), {
        expect: 1,
      }),
  };
}
