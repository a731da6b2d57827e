/** Stages: vaults in an order. Also which names were reported as missing in the last vault of a stage. */
import { type Selectable, type SqlBool, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { containing, type Page, type PageOf, pageOf } from '../engine/page.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { removeRevised, updateRevised } from '../integrity/revisions.ts';
import { livingVaults } from '../lists/resource-filter.ts';
import type { StageTable } from '../schema/schema.ts';
import type { AuditedResource } from './resources.ts';

export type StageRow = Selectable<StageTable>;
export type AuditedStage = StageRow & Audited;

/** The vaults before the last one, and the last one. */
export interface StageVaults {
  readonly earlier: readonly string[];
  readonly last: string;
}

export function stages({ db, lists }: Engine) {
  const audited = (from = db) => from.selectFrom('stages').selectAll('stages').select(auditedRevision());

  /** Secrets of the vaults before the last one whose names it does not have. */
  const missing = ({ earlier, last }: StageVaults) =>
    db
      .selectFrom('resources')
      .where('resources.vault_id', 'in', [...earlier])
      .where('resources.type', '=', 'secret')
      .where('resources.deleted_at', 'is', null)
      .where(sql<SqlBool>`NOT EXISTS (SELECT 1 FROM resources AS there WHERE there.vault_id = ${last}
        AND there.type = 'secret' AND there.name = resources.name AND there.deleted_at IS NULL)`);

  return {
    byId: (organizationId: string, id: string): Promise<AuditedStage | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** An organization's, newest first. */
    all: (organizationId: string, q?: string): Promise<AuditedStage[]> =>
      named(audited(lists).where('organization_id', '=', organizationId), q)
        .orderBy('id', 'desc')
        .execute(),

    page: (organizationId: string, page: Page, q?: string): Promise<PageOf<AuditedStage>> =>
      pageOf(named(audited(lists).where('organization_id', '=', organizationId), q), page),

    /** Those of all organizations after an id, oldest first. */
    after: (id: string | null, limit: number): Promise<AuditedStage[]> =>
      (id === null ? audited() : audited().where('id', '>', id)).orderBy('id').limit(limit).execute(),

    /** The vaults among these that are not deleted. */
    living: async (organizationId: string, vaultIds: readonly string[]): Promise<ReadonlySet<string>> => {
      if (vaultIds.length === 0) return new Set();
      const found = livingVaults(db, organizationId)
        .select('id')
        .where('id', 'in', [...vaultIds]);
      return new Set((await found.execute()).map(({ id }) => id));
    },

    insert: (...rows: readonly StageRow[]): Statement => statement(db.insertInto('stages').values([...rows])),
    update: (row: StageRow): Statement => updateRevised(db, 'stages', row),
    remove: (id: string, revision: number): Statement => removeRevised(db, 'stages', { id, revision }),

    /** One secret for each name that is missing since before that time and was not reported, in the order of the names. */
    async unreported(
      stageId: string,
      vaults: StageVaults,
      before: number,
      limit: number,
    ): Promise<AuditedResource[]> {
      const found = missing(vaults)
        .where('resources.updated_at', '<=', before)
        .where(sql<SqlBool>`NOT EXISTS (SELECT 1 FROM stage_notices
          WHERE stage_notices.stage_id = ${stageId} AND stage_notices.name = resources.name)`)
        .selectAll('resources')
        .select(auditedRevision())
        .orderBy('resources.name')
        .orderBy('resources.id')
        .limit(limit);
      const rows = await found.execute();
      return rows.filter((row, at) => row.name !== rows[at - 1]?.name);
    },

    /** Refused as taken if it was reported already. */
    addNotice: (stageId: string, name: string): Statement =>
      statement(db.insertInto('stage_notices').values({ stage_id: stageId, name })),

    /** Forgets the names that are no longer missing, so that they are reported if they are missing again. */
    forgetMended: (stageId: string, vaults: StageVaults): Statement =>
      statement(
        db
          .deleteFrom('stage_notices')
          .where('stage_id', '=', stageId)
          .where('name', 'not in', missing(vaults).select('resources.name')),
      ),

    /** Whether any of its names was reported. */
    hasNotices: async (stageId: string): Promise<boolean> =>
      (await db
        .selectFrom('stage_notices')
        .select('name')
        .where('stage_id', '=', stageId)
        .limit(1)
        .executeTakeFirst()) !== undefined,

    /** Organizations whose stages may still be in tags of their vaults. */
    inTags: async (limit: number): Promise<string[]> =>
      (
        await db
          .selectFrom('stage_tags')
          .select('organization_id')
          .orderBy('organization_id')
          .limit(limit)
          .execute()
      ).map(row => row.organization_id),

    /** Refused as stale if another replica was first. */
    takeTags: (organizationId: string): Statement =>
      statement(db.deleteFrom('stage_tags').where('organization_id', '=', organizationId), { expect: 1 }),
  };
}

function named<Q extends { where: (condition: ReturnType<typeof sql<SqlBool>>) => Q }>(
  found: Q,
  q: string | undefined,
): Q {
  return q === undefined ? found : found.where(sql<SqlBool>`name_search LIKE ${containing(q)} ESCAPE '\\'`);
}
