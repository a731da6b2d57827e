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
 * Excludes credentials that open nothing any more, which are not listed, as if revoked: those for a purged resource,
 * those of a deleted identity, and access keys issued to an identity before it changed.
 */
export const opensSomething = sql<boolean>`(credentials.vault_id IS NULL OR EXISTS (SELECT 1 FROM resources
  WHERE resources.id = coalesce(credentials.key_id, credentials.vault_id)))
  AND (credentials.identity_id IS NULL OR EXISTS (SELECT 1 FROM identities
  WHERE identities.id = credentials.identity_id
  AND identities.revision = coalesce(credentials.identity_revision, identities.revision)))`;

export function credentials({ db, lists, commit }: Engine) {
  const audited = (from = db) =>
    from.selectFrom('credentials').selectAll('credentials').select(auditedRevision());

  const unrevoked = (organizationId: string, kind: string, from = db) =>
    audited(from)
      .where('organization_id', '=', organizationId)
      .where('kind', '=', kind)
      .where('revoked_at', 'is', null);

  /** Some that have expired. */
  const expired = (before: number, limit: number) =>
    db.selectFrom('credentials').select('id').where('expiration_date', '<', before).limit(limit);

  const byId = preparedRead(db, ({ id }: { id: string }) => audited().where('id', '=', id));

  const usedAt = (id: string, last_used_at: number): Statement =>
    statement(db.updateTable('credentials').set({ last_used_at }).where('id', '=', id));

  return {
    /** Includes revoked credentials; the caller must check. */
    byId: async (id: string): Promise<AuditedCredential | undefined> => (await byId({ id }))[0],

    living: (organizationId: string, kind: string, id: string): Promise<AuditedCredential | undefined> =>
      unrevoked(organizationId, kind).where('id', '=', id).where(opensSomething).executeTakeFirst(),

    /** Credentials of one kind for a vault or a resource in it. */
    ofVault: (organizationId: string, kind: string, vaultId: string): Promise<AuditedCredential[]> =>
      unrevoked(organizationId, kind).where('vault_id', '=', vaultId).execute(),

    /** The API keys, not revoked, that a member created or received. */
    createdBy: (organizationId: string, kind: string, memberId: string): Promise<AuditedCredential[]> =>
      unrevoked(organizationId, kind).where('created_by', '=', memberId).orderBy('id', 'desc').execute(),

    /** Credentials of any kind that others created and that have neither been revoked nor expired. */
    madeBy: (makerIds: readonly string[], now: number, most: number): Promise<AuditedCredential[]> =>
      audited()
        .where('created_by', 'in', [...makerIds])
        .where('revoked_at', 'is', null)
        .where(({ or, eb }) => or([eb('expiration_date', 'is', null), eb('expiration_date', '>', now)]))
        .orderBy('id', 'desc')
        .limit(most)
        .execute(),

    async page(filter: CredentialFilter, page: Page): Promise<PageOf<AuditedCredential>> {
      let found = unrevoked(filter.organizationId, filter.kind, lists).where(opensSomething);
      if (filter.vaultIds !== undefined) found = found.where('vault_id', 'in', [...filter.vaultIds]);
      if (filter.keyId !== undefined) found = found.where('key_id', '=', filter.keyId);
      if (filter.identityId !== undefined) found = found.where('identity_id', '=', filter.identityId);
      if (filter.q !== undefined)
        found = found.where(sql<boolean>`name_search LIKE ${containing(filter.q)} ESCAPE '\\'`);
      return pageOf(found, page);
    },

    insert: (row: CredentialRow): Statement => statement(db.insertInto('credentials').values(row)),

    /** Leaves `last_used_at` unchanged, because it is updated separately. */
    update: ({ last_used_at, ...row }: CredentialRow): Statement => updateRevised(db, 'credentials', row),

    /** For a credential that is used in the same unit. */
    usedAt,

    /** Deletes expired access keys that were issued to identities. Returns how many. */
    async forgetMinted(expiredBefore: number, limit: number): Promise<number> {
      const minted = expired(expiredBefore, limit).where('identity_revision', 'is not', null);
      const remove = db.deleteFrom('credentials').where('id', 'in', minted).returning('id');
      const [rows] = await commit([{ statements: [statement(remove, { returning: true })] }]);
      return rows![0]!.length;
    },

    /** Deletes some expired credentials that another credential created. */
    forgetMadeBy(makerId: string, expiredBefore: number, limit: number): Statement {
      const made = expired(expiredBefore, limit).where('created_by', '=', makerId);
      return statement(db.deleteFrom('credentials').where('id', 'in', made));
    },

    /** Adds the key to a credential created before such keys existed, unless it has changed in the meantime. */
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
      // In the order of ids, so that two replicas can't deadlock.
      const inOrder = [...used].sort(([a], [b]) => (a < b ? -1 : 1));
      await commit([{ statements: inOrder.map(([id, at]) => usedAt(id, at)) }]);
    },
  };
}
