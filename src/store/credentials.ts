/** API keys, vault access keys and public tokens: their records and digests, never the tokens. */
import { type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from './engine.ts';
import type { Audited } from './organizations.ts';
import { containing, offsetOf, type Page, type PageOf } from './page.ts';
import type { CredentialTable } from './schema.ts';

export type CredentialRow = Selectable<CredentialTable>;
export type AuditedCredential = CredentialRow & Audited;

export interface CredentialFilter {
  readonly organizationId: string;
  readonly kind: string;
  readonly vaultIds?: readonly string[] | undefined;
  readonly keyId?: string | undefined;
  readonly q?: string | undefined;
}

/** Of what was purged nothing is left to open, so its credentials are as good as revoked: nobody lists them any more. */
export const opensSomething = sql<boolean>`(credentials.vault_id IS NULL OR EXISTS (SELECT 1 FROM resources
  WHERE resources.id = coalesce(credentials.key_id, credentials.vault_id)))`;

export function credentials({ db, commit }: Engine) {
  const audited = () =>
    db
      .selectFrom('credentials')
      .selectAll('credentials')
      .select(
        sql<number | null>`(SELECT max(subject_revision) FROM audit_logs
          WHERE subject_id = credentials.id AND subject_revision IS NOT NULL)`.as('audited_revision'),
      );

  return {
    /** Revoked ones too: that it was revoked is for the reader of the row to see. */
    byId: (id: string): Promise<AuditedCredential | undefined> =>
      audited().where('id', '=', id).executeTakeFirst(),

    living: (organizationId: string, kind: string, id: string): Promise<AuditedCredential | undefined> =>
      audited()
        .where('id', '=', id)
        .where('organization_id', '=', organizationId)
        .where('kind', '=', kind)
        .where('revoked_at', 'is', null)
        .where(opensSomething)
        .executeTakeFirst(),

    async page(filter: CredentialFilter, page: Page): Promise<PageOf<AuditedCredential>> {
      let found = audited()
        .where('organization_id', '=', filter.organizationId)
        .where('kind', '=', filter.kind)
        .where('revoked_at', 'is', null)
        .where(opensSomething);
      if (filter.vaultIds !== undefined) found = found.where('vault_id', 'in', [...filter.vaultIds]);
      if (filter.keyId !== undefined) found = found.where('key_id', '=', filter.keyId);
      if (filter.q !== undefined) {
        found = found.where(sql<boolean>`name_search LIKE ${containing(filter.q)} ESCAPE '\\'`);
      }
      if (page.asOf !== undefined) found = found.where('id', '<=', page.asOf);
      const { total } = await found
        .clearSelect()
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      const rows = await found.orderBy('id', 'desc').limit(page.limit).offset(offsetOf(page)).execute();
      return { rows, total };
    },

    insert: (row: CredentialRow): Statement => statement(db.insertInto('credentials').values(row)),

    /** When it was last used is noted beside the row's changes, so an update leaves that alone. */
    update: ({ last_used_at, ...row }: CredentialRow): Statement =>
      statement(
        db
          .updateTable('credentials')
          .set(row)
          .where('id', '=', row.id)
          .where('revision', '=', row.revision - 1),
        { expect: 1 },
      ),

    async noteUse(used: ReadonlyMap<string, number>): Promise<void> {
      // In the order of ids, so that two replicas never wait for each other.
      const inOrder = [...used].sort(([a], [b]) => (a < b ? -1 : 1));
      const statements = inOrder.map(([id, last_used_at]) =>
        statement(db.updateTable('credentials').set({ last_used_at }).where('id', '=', id)),
      );
      await commit([{ statements }]);
    },
  };
}
