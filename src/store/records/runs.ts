/** Runs, and the access keys that belong to each. */
import { type Selectable, type SqlBool, sql } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { type Page, type PageOf, pageOf } from '../engine/page.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { updateRevised } from '../integrity/revisions.ts';
import type { RunAccessKeyTable, RunTable } from '../schema/runs.ts';

export type RunRow = Selectable<RunTable>;
export type AuditedRun = RunRow & Audited;
export type RunAccessKeyRow = Selectable<RunAccessKeyTable>;

export interface RunFilter {
  readonly organizationId: string;
  /** Only runs all of whose vaults are among these; all runs if undefined. */
  readonly vaultIds?: readonly string[] | undefined;
  /** Only runs with an access key for this vault. */
  readonly vaultId?: string | undefined;
  /** Only runs that have neither been ended nor reached their end at this time. */
  readonly activeAt?: number | undefined;
}

export function runs({ db, commit, lists }: Engine) {
  const audited = (from = db) => from.selectFrom('runs').selectAll('runs').select(auditedRevision());
  const ofRun = (condition: ReturnType<typeof sql>) =>
    sql<SqlBool>`EXISTS (SELECT 1 FROM run_access_keys WHERE run_access_keys.run_id = runs.id AND ${condition})`;

  return {
    byId: (organizationId: string, id: string): Promise<AuditedRun | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** The runs of access keys, with the keys by which each was found. */
    ofAccessKeys: async (
      organizationId: string,
      accessKeyIds: readonly string[],
    ): Promise<{ readonly keys: readonly RunAccessKeyRow[]; readonly rows: readonly AuditedRun[] }> => {
      if (accessKeyIds.length === 0) return { keys: [], rows: [] };
      const keys = await lists
        .selectFrom('run_access_keys')
        .selectAll()
        .where('access_key_id', 'in', [...accessKeyIds])
        .execute();
      if (keys.length === 0) return { keys, rows: [] };
      const found = audited(lists)
        .where('organization_id', '=', organizationId)
        .where('id', 'in', [...new Set(keys.map(({ run_id }) => run_id))]);
      return { keys, rows: await found.execute() };
    },

    page(
      { organizationId, vaultIds, vaultId, activeAt }: RunFilter,
      page: Page,
    ): Promise<PageOf<AuditedRun>> {
      let found = audited(lists).where('organization_id', '=', organizationId);
      if (vaultIds !== undefined)
        found = found.where(
          sql<SqlBool>`NOT ${ofRun(sql`run_access_keys.vault_id NOT IN (${sql.join([...vaultIds])})`)}`,
        );
      if (vaultId !== undefined) found = found.where(ofRun(sql`run_access_keys.vault_id = ${vaultId}`));
      if (activeAt !== undefined) found = found.where('state', '=', 'active').where('ends_at', '>', activeAt);
      return pageOf(found, page);
    },

    /** Active ones of all organizations that have reached their end. */
    over: (before: number, limit: number): Promise<AuditedRun[]> =>
      audited()
        .where('state', '=', 'active')
        .where('ends_at', '<=', before)
        .orderBy('ends_at')
        .limit(limit)
        .execute(),

    insert: (row: RunRow, keys: readonly RunAccessKeyRow[]): Statement[] => [
      statement(db.insertInto('runs').values(row)),
      statement(db.insertInto('run_access_keys').values([...keys])),
    ],

    /** Refused as stale if another change came first. */
    update: (row: RunRow): Statement => updateRevised(db, 'runs', row),

    /** Deletes runs that ended before then; they remain in the audit log. Returns how many. */
    async forget(before: number, most: number): Promise<number> {
      const over = db
        .selectFrom('runs')
        .select('id')
        .where('state', '<>', 'active')
        .where('ends_at', '<', before)
        .limit(most);
      const ids = (await over.execute()).map(({ id }) => id);
      if (ids.length > 0)
        await commit([{ statements: [statement(db.deleteFrom('runs').where('id', 'in', ids))] }]);
      return ids.length;
    },
  };
}
