/** Certificate authorities, their profiles, and the certificates that they issued. */
import { type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { containing, type Page, type PageOf, pageOf } from '../engine/page.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { removeRevised, updateRevised } from '../integrity/revisions.ts';
import type { AuthorityTable, IssuedCertificateTable, ProfileTable } from '../schema/authorities.ts';

export type AuthorityRow = Selectable<AuthorityTable>;
export type ProfileRow = Selectable<ProfileTable>;
export type IssuedCertificateRow = Selectable<IssuedCertificateTable>;

export interface AuthorityFilter {
  readonly organizationId: string;
  /** All vaults if undefined. */
  readonly vaultIds?: readonly string[] | undefined;
  readonly q?: string | undefined;
}

export interface ProfileFilter extends AuthorityFilter {
  readonly authorityId?: string | undefined;
}

export interface IssuedFilter extends AuthorityFilter {
  readonly authorityId?: string | undefined;
  readonly profileId?: string | undefined;
  readonly requesterId?: string | undefined;
  readonly state?: 'valid' | 'expired' | 'revoked' | undefined;
  readonly now: number;
}

/** Requires that the query finds nothing; otherwise the unit is refused as stale. */
function requireNone({ db }: Engine, table: string, column: string, id: string): Statement {
  const query = sql`SELECT 1 WHERE NOT EXISTS
    (SELECT 1 FROM ${sql.table(table)} WHERE ${sql.ref(column)} = ${id})`;
  return statement({ compile: () => query.compile(db) }, { unless: 'stale' });
}

export function authorities(engine: Engine) {
  const { db, lists } = engine;
  const audited = (from = db) =>
    from.selectFrom('authorities').selectAll('authorities').select(auditedRevision());

  return {
    byId: (organizationId: string, id: string): Promise<(AuthorityRow & Audited) | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** Looks up by id only: for revocation lists, which have no caller. */
    anywhere: (id: string): Promise<(AuthorityRow & Audited) | undefined> =>
      audited().where('id', '=', id).executeTakeFirst(),

    async page(
      { organizationId, vaultIds, q }: AuthorityFilter,
      page: Page,
    ): Promise<PageOf<AuthorityRow & Audited>> {
      let found = audited(lists).where('organization_id', '=', organizationId);
      if (vaultIds !== undefined) found = found.where('vault_id', 'in', vaultIds);
      if (q !== undefined) found = found.where(sql<boolean>`name_search LIKE ${containing(q)} ESCAPE '\\'`);
      return pageOf(found, page);
    },

    /** Whether something depends on it. */
    async isNeeded(id: string, now: number): Promise<boolean> {
      const [profile, authority, certificate] = await Promise.all([
        db.selectFrom('profiles').select('id').where('authority_id', '=', id).limit(1).execute(),
        db.selectFrom('authorities').select('id').where('parent_id', '=', id).limit(1).execute(),
        db
          .selectFrom('issued_certificates')
          .select('id')
          .where('authority_id', '=', id)
          .where('expires_at', '>', now)
          .limit(1)
          .execute(),
      ]);
      return [profile, authority, certificate].some(({ length }) => length > 0);
    },

    insert: (row: AuthorityRow): Statement => statement(db.insertInto('authorities').values(row)),
    update: (row: AuthorityRow): Statement => updateRevised(db, 'authorities', row),
    remove: (id: string, revision: number): Statement[] => [
      requireNone(engine, 'profiles', 'authority_id', id),
      requireNone(engine, 'authorities', 'parent_id', id),
      removeRevised(db, 'authorities', { id, revision }),
    ],
    /** For a vault that is deleted permanently. */
    removeIn: (vaultId: string): Statement[] => [
      statement(db.deleteFrom('issued_certificates').where('vault_id', '=', vaultId)),
      statement(db.deleteFrom('profiles').where('vault_id', '=', vaultId)),
      statement(db.deleteFrom('authorities').where('vault_id', '=', vaultId)),
    ],
  };
}

export function profiles(engine: Engine) {
  const { db, lists } = engine;
  const audited = (from = db) => from.selectFrom('profiles').selectAll('profiles').select(auditedRevision());

  return {
    byId: (organizationId: string, id: string): Promise<(ProfileRow & Audited) | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** Looks up by id only: for ACME, whose clients have accounts of their own. */
    anywhere: (id: string): Promise<(ProfileRow & Audited) | undefined> =>
      audited().where('id', '=', id).executeTakeFirst(),

    async page(
      { organizationId, vaultIds, q, authorityId }: ProfileFilter,
      page: Page,
    ): Promise<PageOf<ProfileRow & Audited>> {
      let found = audited(lists).where('organization_id', '=', organizationId);
      if (vaultIds !== undefined) found = found.where('vault_id', 'in', vaultIds);
      if (authorityId !== undefined) found = found.where('authority_id', '=', authorityId);
      if (q !== undefined) found = found.where(sql<boolean>`name_search LIKE ${containing(q)} ESCAPE '\\'`);
      return pageOf(found, page);
    },

    insert: (row: ProfileRow): Statement => statement(db.insertInto('profiles').values(row)),
    update: (row: ProfileRow): Statement => updateRevised(db, 'profiles', row),
    remove: (id: string, revision: number): Statement => removeRevised(db, 'profiles', { id, revision }),
  };
}

function isIn(state: 'valid' | 'expired' | 'revoked', now: number) {
  if (state === 'revoked') return sql<boolean>`revoked_at IS NOT NULL`;
  const isOver = sql<boolean>`expires_at <= ${now}`;
  return state === 'expired' ? isOver : sql<boolean>`revoked_at IS NULL AND NOT ${isOver}`;
}

export function issuedCertificates({ db, lists, commit }: Engine) {
  const audited = (from = db) =>
    from.selectFrom('issued_certificates').selectAll('issued_certificates').select(auditedRevision());

  return {
    byId: (organizationId: string, id: string): Promise<(IssuedCertificateRow & Audited) | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    bySerial: (authorityId: string, serial: string): Promise<(IssuedCertificateRow & Audited) | undefined> =>
      audited().where('authority_id', '=', authorityId).where('serial', '=', serial).executeTakeFirst(),

    async page(filter: IssuedFilter, page: Page): Promise<PageOf<IssuedCertificateRow & Audited>> {
      const { organizationId, vaultIds, authorityId, profileId, requesterId, q, state, now } = filter;
      const given = Object.entries({
        authority_id: authorityId,
        profile_id: profileId,
        requester_id: requesterId,
      }).filter((entry): entry is ['authority_id' | 'profile_id' | 'requester_id', string] =>
        Boolean(entry[1]),
      );
      let found = audited(lists).where('organization_id', '=', organizationId);
      for (const [column, value] of given) found = found.where(column, '=', value);
      if (vaultIds !== undefined) found = found.where('vault_id', 'in', vaultIds);
      if (q !== undefined) found = found.where(sql<boolean>`names LIKE ${containing(q)} ESCAPE '\\'`);
      return pageOf(state === undefined ? found : found.where(isIn(state, now)), page);
    },

    /** Those of an authority that were revoked and have not expired. */
    revoked: (authorityId: string, now: number): Promise<(IssuedCertificateRow & Audited)[]> =>
      audited()
        .where('authority_id', '=', authorityId)
        .where('revoked_at', 'is not', null)
        .where('expires_at', '>', now)
        .orderBy('revoked_at')
        .orderBy('id')
        .execute(),

    insert: (row: IssuedCertificateRow): Statement =>
      statement(db.insertInto('issued_certificates').values(row)),
    update: (row: IssuedCertificateRow): Statement => updateRevised(db, 'issued_certificates', row),

    /** Deletes those that expired before then; they remain in the audit log. Returns how many. */
    async forget(before: number, most: number): Promise<number> {
      const found = await db
        .selectFrom('issued_certificates')
        .select('id')
        .where('expires_at', '<', before)
        .limit(most)
        .execute();
      if (found.length === 0) return 0;
      const ids = found.map(({ id }) => id);
      const gone = db.deleteFrom('issued_certificates').where('id', 'in', ids);
      await commit([{ statements: [statement(gone)] }]);
      return found.length;
    },
  };
}
