/** Vaults, secrets, keys and certificates, with their versions, tags and counts. */
import { type Selectable, sql } from 'kysely';
import { type Engine, type Statement, statement } from './engine.ts';
import type { Audited } from './organizations.ts';
import { offsetOf, type Page, type PageOf } from './page.ts';
import { auditedRevision, inLivingVault, resourceLists } from './resource-lists.ts';
import type { ResourceTable, VersionTable } from './schema.ts';

export type { ResourceFilter } from './resource-lists.ts';
export type ResourceRow = Selectable<ResourceTable>;
export type VersionRow = Selectable<VersionTable>;
export type AuditedResource = ResourceRow & Audited;
/** A resource together with its current version's sealed value. */
export type ResourceWithValue = AuditedResource & { readonly value: Uint8Array };

export function resources({ db }: Engine) {
  const audited = () =>
    db.selectFrom('resources').where(inLivingVault).selectAll('resources').select(auditedRevision);

  const withValue = () =>
    audited()
      .innerJoin('versions', join =>
        join
          .onRef('versions.resource_id', '=', 'resources.id')
          .onRef('versions.version', '=', 'resources.version'),
      )
      .select('versions.value');

  return {
    /** In this organization, or nothing: another's resource is looked up like one that never was. */
    byId: (organizationId: string, id: string): Promise<AuditedResource | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** By id alone: only for callers whose credential names the vault. */
    vault: (id: string): Promise<AuditedResource | undefined> =>
      audited()
        .where('id', '=', id)
        .where('type', '=', 'vault')
        .where('deleted_at', 'is', null)
        .executeTakeFirst(),

    byName: (vaultId: string, type: string, name: string): Promise<AuditedResource | undefined> =>
      audited()
        .where('vault_id', '=', vaultId)
        .where('type', '=', type)
        .where('name', '=', name)
        .where('deleted_at', 'is', null)
        .executeTakeFirst(),

    withValue: (vaultId: string, id: string): Promise<ResourceWithValue | undefined> =>
      withValue()
        .where('resources.id', '=', id)
        .where('vault_id', '=', vaultId)
        .where('deleted_at', 'is', null)
        .executeTakeFirst(),

    /** What lives of one type in a vault, oldest first, with the sealed values: so many after an id. */
    stretchWithValues: (
      vaultId: string,
      type: string,
      afterId: string | undefined,
      limit: number,
    ): Promise<ResourceWithValue[]> => {
      const found = withValue()
        .where('vault_id', '=', vaultId)
        .where('type', '=', type)
        .where('deleted_at', 'is', null)
        .orderBy('resources.id')
        .limit(limit);
      return (afterId === undefined ? found : found.where('resources.id', '>', afterId)).execute();
    },

    page: resourceLists(db).page,

    insert: (row: ResourceRow): Statement => statement(db.insertInto('resources').values(row)),

    /** Refused as stale where the row is not the one that was read. */
    update: (row: ResourceRow): Statement =>
      statement(
        db
          .updateTable('resources')
          .set(row)
          .where('id', '=', row.id)
          .where('revision', '=', row.revision - 1),
        { expect: 1 },
      ),

    purge: (id: string, revision: number): Statement =>
      statement(db.deleteFrom('resources').where('id', '=', id).where('revision', '=', revision), {
        expect: 1,
      }),

    /** All that a vault holds, for good; the vault's own row goes by `purge`. */
    purgeContents: ({ id, organization_id }: Pick<ResourceRow, 'id' | 'organization_id'>): Statement[] => [
      statement(db.deleteFrom('resources').where('vault_id', '=', id).where('type', '<>', 'vault')),
      statement(
        db.deleteFrom('counts').where('organization_id', '=', organization_id).where('vault_id', '=', id),
      ),
    ],

    /** Takes a vault with all that it holds out of the organization's totals, or back into them. */
    countVault: (organizationId: string, vaultId: string, change: 1 | -1): Statement[] => [
      addToCount(organizationId, 'vault', organizationId, change),
      statement(
        db
          .updateTable('counts')
          .set({
            living: sql`living + ${change} * coalesce((SELECT held.living FROM counts AS held
              WHERE held.organization_id = counts.organization_id AND held.vault_id = ${vaultId}
                AND held.type = counts.type), 0)`,
          })
          .where('organization_id', '=', organizationId)
          .where('vault_id', '=', organizationId)
          .where('type', '<>', 'vault'),
      ),
    ],

    /** Deleted before that moment, and due to be removed for good. */
    deletedBefore: (moment: number, limit: number): Promise<AuditedResource[]> =>
      audited().where('deleted_at', '<', moment).orderBy('deleted_at').limit(limit).execute(),

    insertVersion: (row: VersionRow): Statement => statement(db.insertInto('versions').values(row)),

    version: (resourceId: string, version: number): Promise<VersionRow | undefined> =>
      db
        .selectFrom('versions')
        .selectAll()
        .where('resource_id', '=', resourceId)
        .where('version', '=', version)
        .executeTakeFirst(),

    async versionPage(resourceId: string, page: Page): Promise<PageOf<VersionRow>> {
      const found = db.selectFrom('versions').where('resource_id', '=', resourceId);
      const { total } = await found
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      const rows = await found
        .selectAll()
        .orderBy('version', 'desc')
        .limit(page.limit)
        .offset(offsetOf(page))
        .execute();
      return { rows, total };
    },

    setTags: (organizationId: string, resourceId: string, indexes: readonly string[]): Statement[] => {
      const clear = statement(db.deleteFrom('tags').where('resource_id', '=', resourceId));
      if (indexes.length === 0) return [clear];
      const rows = indexes.map(tag_index => ({
        organization_id: organizationId,
        tag_index,
        resource_id: resourceId,
      }));
      return [clear, statement(db.insertInto('tags').values(rows))];
    },

    /** One more or one less that lies in a vault. */
    count: (organizationId: string, type: string, vaultId: string, change: 1 | -1): Statement[] => [
      addToCount(organizationId, type, organizationId, change),
      addToCount(organizationId, type, vaultId, change),
    ],
  };

  function addToCount(organizationId: string, type: string, vaultId: string, change: number): Statement {
    const row = { organization_id: organizationId, type, vault_id: vaultId, living: change };
    return statement(
      db
        .insertInto('counts')
        .values(row)
        .onConflict(on =>
          on
            .columns(['organization_id', 'vault_id', 'type'])
            .doUpdateSet({ living: sql`counts.living + ${change}` }),
        ),
    );
  }
}
