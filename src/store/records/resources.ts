/** Vaults, secrets, keys and certificates, with their versions. */
import { sql } from 'kysely';
import type { Sealed } from '../../base/bytes.ts';
import type { Engine } from '../engine/engine.ts';
import { type Page, type PageOf, pageOf } from '../engine/page.ts';
import { preparedRead } from '../engine/prepared.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { type Stretch, stretches } from '../lists/packed-resources.ts';
import { inLivingVault, livingVaults } from '../lists/resource-filter.ts';
import { resourceLists } from '../lists/resource-lists.ts';
import { type ResourceRow, resourceChanges, type VersionRow } from './resource-changes.ts';

export type { Stretch } from '../lists/packed-resources.ts';
export type { ResourceFilter } from '../lists/resource-filter.ts';
export type { ResourcePage } from '../lists/resource-lists.ts';
export type { ResourceRow, VersionRow } from './resource-changes.ts';
export type AuditedResource = ResourceRow & Audited;
/**
 * A resource with the sealed value of its current version. The value is null if that version is missing, and the row
 * then fails verification.
 */
export type ResourceWithValue = AuditedResource & { readonly value: Sealed };

export function resources(engine: Engine) {
  const { db, lists } = engine;
  const audited = () =>
    db.selectFrom('resources').where(inLivingVault).selectAll('resources').select(auditedRevision());

  interface Named {
    readonly vaultId: string;
    readonly type: string;
    readonly name: string;
  }
  const named = ({ vaultId, type, name }: Named) =>
    audited().where('vault_id', '=', vaultId).where('type', '=', type).where('name', '=', name);
  // The types are in the text of these queries, because an index with a condition isn't used for a placeholder.
  const livingByName = preparedRead(db, (given: Named) =>
    named(given).where('type', '<>', sql.lit('vault')).where('deleted_at', 'is', null),
  );
  const livingVaultByName = preparedRead(
    db,
    ({ organizationId, name }: { organizationId: string; name: string }) =>
      audited()
        .where('organization_id', '=', organizationId)
        .where('type', '=', sql.lit('vault'))
        .where('name', '=', name)
        .where('deleted_at', 'is', null),
  );

  const versions = (from = db) => from.selectFrom('versions').selectAll();

  const withValue = () =>
    audited()
      .leftJoin('versions', join =>
        join
          .onRef('versions.resource_id', '=', 'resources.id')
          .onRef('versions.version', '=', 'resources.version'),
      )
      .select(sql<Sealed>`versions.value`.as('value'));

  const stretch = stretches(engine);
  const byId = preparedRead(db, ({ organizationId, id }: { organizationId: string; id: string }) =>
    audited().where('id', '=', id).where('organization_id', '=', organizationId),
  );
  const vaultById = preparedRead(db, ({ id }: { id: string }) =>
    audited().where('id', '=', id).where('type', '=', 'vault').where('deleted_at', 'is', null),
  );

  return {
    /** Only in this organization: another organization's resource is treated like one that does not exist. */
    byId: async (organizationId: string, id: string): Promise<AuditedResource | undefined> =>
      (await byId({ organizationId, id }))[0],

    /** Looks up by id only: for callers whose credential names the vault. */
    vault: async (id: string): Promise<AuditedResource | undefined> => (await vaultById({ id }))[0],

    /** Looks up by id only: to find the organization whose log a refused request belongs to. */
    key: (id: string): Promise<AuditedResource | undefined> =>
      audited().where('id', '=', id).where('type', '=', 'key').executeTakeFirst(),

    /** Of what a vault contains. */
    byName: async (vaultId: string, type: string, name: string): Promise<AuditedResource | undefined> =>
      (await livingByName({ vaultId, type, name }))[0],

    /** The current revisions, to show what changed; what is done is decided by the rows themselves. */
    async revisionsOf(ids: readonly string[]): Promise<Map<string, number>> {
      const rows = await lists
        .selectFrom('resources')
        .select(['id', 'revision'])
        .where('id', 'in', ids)
        .execute();
      return new Map(rows.map(({ id, revision }) => [id, revision]));
    },

    /** The one deleted last. */
    deletedByName: (vaultId: string, type: string, name: string): Promise<AuditedResource | undefined> =>
      named({ vaultId, type, name })
        .where('deleted_at', 'is not', null)
        .orderBy('deleted_at', 'desc')
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst(),

    vaultByName: async (organizationId: string, name: string): Promise<AuditedResource | undefined> =>
      (await livingVaultByName({ organizationId, name }))[0],

    withValue: async (vaultId: string, id: string): Promise<ResourceWithValue | undefined> => {
      if (id === vaultId) return undefined; // A vault has no version.
      return withValue()
        .where('resources.id', '=', id)
        .where('vault_id', '=', vaultId)
        .where('deleted_at', 'is', null)
        .executeTakeFirst();
    },

    /** Those of these secrets of an organization that are not deleted. */
    secretsWithValues: (organizationId: string, ids: readonly string[]): Promise<ResourceWithValue[]> =>
      withValue()
        .where('resources.id', 'in', [...ids])
        .where('organization_id', '=', organizationId)
        .where('type', '=', 'secret')
        .where('deleted_at', 'is', null)
        .execute(),

    /**
     * A vault's resources of one type that are not deleted, oldest first, with the sealed values: up to `limit` after
     * an id.
     */
    stretchWithValues: (
      vaultId: string,
      type: string,
      afterId: string | undefined,
      limit: number,
    ): Promise<Stretch> => stretch({ vaultId, type, afterId, limit }),

    /**
     * The number of resources per type and vault, without deleted ones: for these vaults, or for up to `limit` vaults.
     */
    counts: (
      organizationId: string,
      vaultIds: readonly string[] | undefined,
      limit: number,
    ): Promise<{ vault_id: string; type: string; living: number }[]> => {
      const living = livingVaults(lists, organizationId).select('id').orderBy('id', 'desc').limit(limit);
      const vaults = vaultIds === undefined ? living : living.where('id', 'in', [...vaultIds]);
      return lists
        .selectFrom(vaults.as('vaults'))
        .leftJoin('counts', join =>
          join.onRef('counts.vault_id', '=', 'vaults.id').on('counts.organization_id', '=', organizationId),
        )
        .select(eb => [
          'vaults.id as vault_id',
          eb.fn.coalesce('counts.type', sql.lit('')).as('type'),
          eb.fn.coalesce('counts.living', sql.lit(0)).as('living'),
        ])
        .execute();
    },

    page: resourceLists(engine).page,

    ...resourceChanges(engine),

    /** Deleted before that time, and due to be deleted permanently. */
    deletedBefore: (moment: number, limit: number): Promise<AuditedResource[]> =>
      audited().where('deleted_at', '<', moment).orderBy('deleted_at').limit(limit).execute(),

    version: (resourceId: string, version: number): Promise<VersionRow | undefined> =>
      versions().where('resource_id', '=', resourceId).where('version', '=', version).executeTakeFirst(),

    versionPage(resourceId: string, { page, limit }: Page): Promise<PageOf<VersionRow>> {
      return pageOf(versions(lists).where('resource_id', '=', resourceId), { page, limit }, 'version');
    },
  };
}
