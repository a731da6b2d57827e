/** API keys, vault access keys and public tokens: their records and digests, never the tokens. */
import { type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { containing, type Page, type PageOf, pageOf } from '../engine/page.ts';
import { preparedRead } from '../engine/prepared.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { updateRevised } from '../integrity/revisions.ts';
import type { CredentialTable } from '../schema/schema.ts';

export type CredentialRow = Selectable<CredentialTable>;
export type AuditedCredential = CredentialRow & Audited;

export interface CredentialFilter {
  readonly organizationId: string;
  readonly kind: string;
  readonly vaultIds?: readonly string[] | undefined;
  readonly keyId?: string | undefined;
  readonly identityId?: string | undefined;
  readonly q?: string | undefined;
}

/**
 * Of what was purged nothing is left to open, so its credentials are as good as revoked: nobody lists them any more. Nor
 * those of an identity that is gone, or an access key that it was given before it changed.
 */
export const opensSomething = sql<boolean>`(credentials.vault_id IS NULL OR EXISTS (SELECT 1 FROM resources
  WHERE resources.id = coalesce(credentials.key_id, credentials.vault_id)))
  AND (credentials.identity_id IS NULL OR EXISTS (SELECT 1 FROM identities
  WHERE identities.id = credentials.identity_id
  AND identities.revision = coalesce(credentials.identity_revision, identities.revision)))`;

export function credentials({ db, lists, commit }: Engine) {
  const audited = (from = db) =>
    from.selectFrom('credentials').selectAll('credentials').select(auditedRevision());

  const byId = preparedRead(db, ({ id }: { id: string }) => audited().where('id', '=', id));

  return {
    /** Revoked ones too: that it was revoked is for the reader of the row to see. */
    byId: async (id: string): Promise<AuditedCredential | undefined> => (await byId({ id }))[0],

    living: (organizationId: string, kind: string, id: string): Promise<AuditedCredential | undefined> =>
      audited()
        .where('id', '=', id)
        .where('organization_id', '=', organizationId)
        .where('kind', '=', kind)
        .where('revoked_at', 'is', null)
        .where(opensSomething)
        .executeTakeFirst(),

    /** Those of one kind that open a vault, or something in it. */
    ofVault: (organizationId: string, kind: string, vaultId: string): Promise<AuditedCredential[]> =>
      audited()
        .where('organization_id', '=', organizationId)
        .where('kind', '=', kind)
        .where('vault_id', '=', vaultId)
        .where('revoked_at', 'is', null)
        .execute(),

    /** The living API keys that a member created, or that were given to them. */
    createdBy: (organizationId: string, kind: string, memberId: string): Promise<AuditedCredential[]> =>
      audited()
        .where('organization_id', '=', organizationId)
        .where('kind', '=', kind)
        .where('created_by', '=', memberId)
        .where('revoked_at', 'is', null)
        .orderBy('id', 'desc')
        .execute(),

    /** What others created and has not ended, of whichever kind. */
    madeBy: (makerIds: readonly string[], now: number, most: number): Promise<AuditedCredential[]> =>
      audited()
        .where('created_by', 'in', [...makerIds])
        .where('revoked_at', 'is', null)
        .where(({ or, eb }) => or([eb('expiration_date', 'is', null), eb('expiration_date', '>', now)]))
        .orderBy('id', 'desc')
        .limit(most)
        .execute(),

    async page(filter: CredentialFilter, page: Page): Promise<PageOf<AuditedCredential>> {
      let found = audited(lists)
        .where('organization_id', '=', filter.organizationId)
        .where('kind', '=', filter.kind)
        .where('revoked_at', 'is', null)
        .where(opensSomething);
      if (filter.vaultIds !== undefined) found = found.where('vault_id', 'in', [...filter.vaultIds]);
      if (filter.keyId !== undefined) found = found.where('key_id', '=', filter.keyId);
      if (filter.identityId !== undefined) found = found.where('identity_id', '=', filter.identityId);
      if (filter.q !== undefined) {
        found = found.where(sql<boolean>`name_search LIKE ${containing(filter.q)} ESCAPE '\\'`);
      }
      return pageOf(found, page);
    },

    insert: (row: CredentialRow): Statement => statement(db.insertInto('credentials').values(row)),

    /** When it was last used is noted beside the row's changes, so an update leaves that alone. */
    update: ({ last_used_at, ...row }: CredentialRow): Statement => updateRevised(db, 'credentials', row),

    /** Of one that is used in the unit itself. */
    usedAt: (id: string, last_used_at: number): Statement =>
      statement(db.updateTable('credentials').set({ last_used_at }).where('id', '=', id)),

    /** Removes access keys that were given to identities and have expired; says how many. */
    async forgetMinted(expiredBefore: number, limit: number): Promise<number> {
      const expired = db
        .selectFrom('credentials')
        .select('id')
        .where('identity_revision', 'is not', null)
        .where('expiration_date', '<', expiredBefore)
        .limit(limit);
      const remove = db.deleteFrom('credentials').where('id', 'in', expired).returning('id');
      const [rows] = await commit([{ statements: [statement(remove, { returning: true })] }]);
      return rows![0]!.length;
    },

    /** Removes some of what another created and has expired. */
    forgetMadeBy(makerId: string, expiredBefore: number, limit: number): Statement {
      const expired = db
        .selectFrom('credentials')
        .select('id')
        .where('created_by', '=', makerId)
        .where('expiration_date', '<', expiredBefore)
        .limit(limit);
      return statement(db.deleteFrom('credentials').where('id', 'in', expired));
    },

    /** Of one that was created before there were any, unless it changed meanwhile. */
    async noteRestrictionKey({ id, narrowing_key, stamp, revision }: CredentialRow): Promise<void> {
      const noted = db
        .updateTable('credentials')
        .set({ narrowing_key, stamp })
        .where('id', '=', id)
        .where('revision', '=', revision)
        .where('narrowing_key', 'is', null);
      await commit([{ statements: [statement(noted)], touches: [id] }]);
    },

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
