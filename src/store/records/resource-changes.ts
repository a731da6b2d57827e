/**
 * Statements that change resources, their versions, tags and counts. Changing many takes as many statements as changing
 * one.
 */
import { type Selectable, sql } from 'kysely';
import { type Columns, type Engine, type Statement, statement } from '../engine/engine.ts';
import { prepared } from '../engine/prepared.ts';
import { removeRevised, updateRevised } from '../integrity/revisions.ts';
import { each } from '../schema/common.ts';
import type { ResourceTable, TagTable, VersionTable } from '../schema/schema.ts';

export type ResourceRow = Selectable<ResourceTable>;
export type VersionRow = Selectable<VersionTable>;
export type TagRow = Selectable<TagTable>;

export interface Counted {
  readonly organization_id: string;
  readonly vault_id: string;
  readonly type: string;
}

const resourceColumns: Columns<'resources'> = {
  ...each('uuid', 'id', 'organization_id', 'vault_id'),
  ...each('text', 'type', 'name', 'name_search', 'content_type', 'attributes'),
  ...each('integer', 'enabled', 'version', 'revision'),
  ...each('bigint', 'activation_date', 'expiration_date', 'deleted_at', 'created_at', 'updated_at'),
  ...each('bytea', 'labels', 'vault_key', 'stamp'),
};
const versionColumns: Columns<'versions'> = {
  resource_id: 'uuid',
  version: 'integer',
  ...each('text', 'content_type', 'attributes', 'created_by'),
  created_at: 'bigint',
  ...each('bytea', 'value', 'stamp'),
};
const tagColumns: Columns<'tags'> = { organization_id: 'uuid', tag_index: 'text', resource_id: 'uuid' };
const countColumns: Columns<'counts'> = {
  ...each('uuid', 'organization_id', 'vault_id'),
  type: 'text',
  living: 'integer',
};
const addToCount =
  'ON CONFLICT (organization_id, vault_id, type) DO UPDATE SET living = counts.living + excluded.living';

export function resourceChanges({ db, insertingInto }: Engine) {
  const insert = insertingInto('resources', resourceColumns);
  const insertVersions = insertingInto('versions', versionColumns);
  const addTags = insertingInto('tags', tagColumns);
  const addToCounts = insertingInto('counts', countColumns, addToCount);
  const clearTags = prepared<{ resourceId: string }>(({ resourceId }) =>
    db.deleteFrom('tags').where('resource_id', '=', resourceId),
  );

  return {
    insert: (...rows: readonly ResourceRow[]): Statement => insert(rows),

    insertVersion: (...rows: readonly VersionRow[]): Statement => insertVersions(rows),

    /** Refused as stale if the row is not the one that was read. */
    update: (row: ResourceRow): Statement => updateRevised(db, 'resources', row),

    purge: (id: string, revision: number): Statement => removeRevised(db, 'resources', { id, revision }),

    /** Permanently deletes a vault's contents. The vault's own row is deleted by `purge`. */
    purgeContents: ({ id, organization_id }: Pick<ResourceRow, 'id' | 'organization_id'>): Statement[] => [
      statement(db.deleteFrom('resources').where('vault_id', '=', id).where('type', '<>', 'vault')),
      statement(
        db.deleteFrom('counts').where('organization_id', '=', organization_id).where('vault_id', '=', id),
      ),
    ],

    clearTags: (resourceId: string): Statement => clearTags({ resourceId }),

    addTags: (rows: readonly TagRow[]): Statement => addTags(rows),

    /** Adds resources to the totals of their vaults and their organization, or subtracts them. */
    count: (resources: readonly Counted[], change: 1 | -1): Statement =>
      addToCounts(sumsOf(resources, change)),

    /** Subtracts a vault and its contents from the organization's totals, or adds them back. */
    countVault: (organizationId: string, vaultId: string, change: 1 | -1): Statement[] => [
      addToCounts([
        { organization_id: organizationId, vault_id: organizationId, type: 'vault', living: change },
      ]),
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
  };
}

/** One row per total that changes, because a statement can change a row only once. */
function sumsOf(resources: readonly Counted[], change: 1 | -1) {
  const sums = new Map<string, Counted & { living: number }>();
  const add = ({ organization_id, type }: Counted, vault_id: string) => {
    const key = `${type} ${vault_id}`;
    const sum = sums.get(key) ?? { organization_id, vault_id, type, living: 0 };
    sum.living += change;
    sums.set(key, sum);
  };
  for (const resource of resources) add(resource, resource.organization_id);
  for (const resource of resources) add(resource, resource.vault_id);
  return [...sums.values()];
}
