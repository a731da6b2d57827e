/** Workload identities: how a machine proves its identity, and what its access keys permit. */
import { type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { containing, type Page, type PageOf, pageOf } from '../engine/page.ts';
import { preparedRead } from '../engine/prepared.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { removeRevised, updateRevised } from '../integrity/revisions.ts';
import type { IdentityTable } from '../schema/schema.ts';

export type IdentityRow = Selectable<IdentityTable>;
type AuditedIdentity = IdentityRow & Audited;

export function identities({ db, lists }: Engine) {
  const audited = (from = db) =>
    from.selectFrom('identities').selectAll('identities').select(auditedRevision());

  const ofOrganization = (organizationId: string, from = db) =>
    audited(from).where('organization_id', '=', organizationId);

  const byId = preparedRead(db, ({ id }: { id: string }) => audited().where('id', '=', id));

  return {
    byId: (organizationId: string, id: string): Promise<AuditedIdentity | undefined> =>
      ofOrganization(organizationId).where('id', '=', id).executeTakeFirst(),

    /** Looks up by id only: for logins, which have no organization yet, and for the access keys they result in. */
    anywhere: async (id: string): Promise<AuditedIdentity | undefined> => (await byId({ id }))[0],

    /** Identities that may open a vault. */
    ofVault: (organizationId: string, vaultId: string): Promise<AuditedIdentity[]> =>
      ofOrganization(organizationId).where('narrowing', 'like', `%${vaultId}%`).execute(),

    /** Identities that others created. */
    madeBy: (organizationId: string, makerIds: readonly string[], most: number): Promise<AuditedIdentity[]> =>
      ofOrganization(organizationId)
        .where('created_by', 'in', makerIds)
        .orderBy('id', 'desc')
        .limit(most)
        .execute(),

    async page(organizationId: string, page: Page, q?: string): Promise<PageOf<AuditedIdentity>> {
      let found = ofOrganization(organizationId, lists);
      if (q !== undefined) found = found.where(sql<boolean>`name_search LIKE ${containing(q)} ESCAPE '\\'`);
      return pageOf(found, page);
    },

    insert: (row: IdentityRow): Statement => statement(db.insertInto('identities').values(row)),

    /** Leaves `last_login_at` unchanged, because it is updated separately. */
    update: ({ last_login_at, ...row }: IdentityRow): Statement => updateRevised(db, 'identities', row),

    /** Also deletes its secret ids. Its access keys become invalid without it. */
    remove: (id: string, revision: number): Statement[] => [
      statement(
        db.deleteFrom('credentials').where('identity_id', '=', id).where('identity_revision', 'is', null),
      ),
      removeRevised(db, 'identities', { id, revision }),
    ],

    /** Refused as stale if the identity has changed since the proof was checked. */
    loggedIn: ({ id, revision }: IdentityRow, last_login_at: number): Statement =>
      statement(
        db
          .updateTable('identities')
          .set({ last_login_at })
          .where('id', '=', id)
          .where('revision', '=', revision),
        { expect: 1 },
      ),
  };
}
