/** Use rules: what the service may do with a secret or a key on behalf of callers. */
import { type Selectable, sql } from 'kysely';
import { isId } from '../../contract/id.ts';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { containing, type Page, type PageOf, pageOf } from '../engine/page.ts';
import { preparedRead } from '../engine/prepared.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { removeRevised, updateRevised } from '../integrity/revisions.ts';
import type { UseRuleTable } from '../schema/schema.ts';

export type UseRuleRow = Selectable<UseRuleTable>;
type AuditedUseRule = UseRuleRow & Audited;

export interface UseRuleFilter {
  readonly organizationId: string;
  /** All vaults if undefined. */
  readonly vaultIds?: readonly string[] | undefined;
  readonly resourceId?: string | undefined;
  readonly q?: string | undefined;
}

export function rulesForUse({ db, lists }: Engine) {
  const audited = (from = db) =>
    from.selectFrom('use_rules').selectAll('use_rules').select(auditedRevision());

  const ofResource = preparedRead(db, ({ resourceId }: { resourceId: string }) =>
    audited().where('resource_id', '=', resourceId).orderBy('id'),
  );

  const withId = preparedRead(db, ({ vaultId, id }: { vaultId: string; id: string }) =>
    audited().where('id', '=', id).where('vault_id', '=', vaultId),
  );
  const withName = preparedRead(db, ({ vaultId, name }: { vaultId: string; name: string }) =>
    audited().where('vault_id', '=', vaultId).where('name', '=', name).orderBy('id'),
  );

  return {
    byId: (organizationId: string, id: string): Promise<AuditedUseRule | undefined> =>
      audited().where('id', '=', id).where('organization_id', '=', organizationId).executeTakeFirst(),

    /** Oldest first. */
    ofResource: (resourceId: string): Promise<AuditedUseRule[]> => ofResource({ resourceId }),

    /** The one of a vault with this id, or those with this name, oldest first. */
    named: (vaultId: string, idOrName: string): Promise<AuditedUseRule[]> =>
      isId(idOrName) ? withId({ vaultId, id: idOrName }) : withName({ vaultId, name: idOrName }),

    async page(
      { organizationId, vaultIds, resourceId, q }: UseRuleFilter,
      page: Page,
    ): Promise<PageOf<AuditedUseRule>> {
      let found = audited(lists).where('organization_id', '=', organizationId);
      if (vaultIds !== undefined) found = found.where('vault_id', 'in', vaultIds);
      if (resourceId !== undefined) found = found.where('resource_id', '=', resourceId);
      if (q !== undefined) found = found.where(sql<boolean>`name_search LIKE ${containing(q)} ESCAPE '\\'`);
      return pageOf(found, page);
    },

    insert: (row: UseRuleRow): Statement => statement(db.insertInto('use_rules').values(row)),
    update: (row: UseRuleRow): Statement => updateRevised(db, 'use_rules', row),
    /** For a vault, a secret or a key that is deleted permanently. */
    removeIn: (vaultId: string): Statement =>
      statement(db.deleteFrom('use_rules').where('vault_id', '=', vaultId)),
    removeOf: (resourceId: string): Statement =>
      statement(db.deleteFrom('use_rules').where('resource_id', '=', resourceId)),
    remove: (id: string, revision: number): Statement => removeRevised(db, 'use_rules', { id, revision }),
  };
}
