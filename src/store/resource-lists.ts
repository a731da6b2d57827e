/**
 * Lists of resources. A page and its total are found by indexes, however many there are: totals are kept beside
 * the rows, and what a list leaves out of them is counted instead of what it shows. Only a search within names
 * and a page far from the first one take time in proportion to what they pass over.
 */
import { type Kysely, type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import type { Audited } from './organizations.ts';
import { containing, offsetOf, type Page, type PageOf } from './page.ts';
import type { ResourceTable, Schema } from './schema.ts';

export interface ResourceFilter {
  readonly organizationId: string;
  readonly type?: string | undefined;
  /** Only in these vaults. */
  readonly vaultIds?: readonly string[] | undefined;
  /** Part of a name. */
  readonly q?: string | undefined;
  /** Blind index of a tag. */
  readonly tagIndex?: string | undefined;
  readonly state?: 'active' | 'inactive' | 'expired' | 'disabled' | 'deleted' | undefined;
  readonly now: number;
}

type Found = SelectQueryBuilder<Schema, 'resources', object>;

export const auditedRevision = sql<number | null>`(SELECT max(subject_revision) FROM audit_logs
  WHERE subject_id = resources.id AND subject_revision IS NOT NULL)`.as('audited_revision');

/** With a vault all that it holds is gone from sight, and comes back with it. */
export const inLivingVault = sql<boolean>`NOT EXISTS (SELECT 1 FROM resources AS vault
  WHERE vault.id = resources.vault_id AND vault.id <> resources.id AND vault.deleted_at IS NOT NULL)`;

const ofLivingVault = sql<boolean>`NOT EXISTS (SELECT 1 FROM resources AS vault
  WHERE vault.id = counts.vault_id AND vault.deleted_at IS NOT NULL)`;

/** Word for word what the index of the few that may not be active says. */
const mayBeInactive = sql<boolean>`(resources.enabled = 0 OR resources.activation_date IS NOT NULL
  OR resources.expiration_date IS NOT NULL)`;
/** A type that no index can be chosen by: the one of a type would be taken for a better one than the above. */
const unindexedType = sql<string>`(resources.type || '')`;
const seldom = new Set<ResourceFilter['state']>(['inactive', 'expired', 'disabled']);

export function resourceLists(db: Kysely<Schema>) {
  const everywhere = (filter: ResourceFilter) =>
    narrow(db.selectFrom('resources').where(inLivingVault), filter);

  return {
    async page(filter: ResourceFilter, page: Page): Promise<PageOf<Selectable<ResourceTable> & Audited>> {
      const found = inState(everywhere(filter), filter);
      const listed = page.asOf === undefined ? found : found.where('resources.id', '<=', page.asOf);
      const rows = await listed
        .selectAll('resources')
        .select(auditedRevision)
        .orderBy('resources.id', 'desc')
        .limit(page.limit)
        .offset(offsetOf(page))
        .execute();
      return { rows, total: isKept(filter) ? await keptTotal(filter, found, page) : await countOf(listed) };
    },
  };

  /** The kept totals know types and vaults. */
  function isKept({ q, tagIndex, state }: ResourceFilter): boolean {
    return q === undefined && tagIndex === undefined && (state === undefined || state === 'active');
  }

  async function keptTotal(filter: ResourceFilter, found: Found, { asOf }: Page): Promise<number> {
    const all = (await keptCount(filter)) + (await vaultsAmong(filter));
    const inactive = filter.state === 'active' ? await countOf(inactiveOf(filter)) : 0;
    const newer = asOf === undefined ? 0 : await countOf(found.where('resources.id', '>', asOf));
    return Math.max(0, all - inactive - newer);
  }

  function inactiveOf(filter: ResourceFilter): Found {
    const { now } = filter;
    return everywhere({ ...filter, state: 'inactive' })
      .where(mayBeInactive)
      .where(eb =>
        eb.or([eb('enabled', '=', 0), eb('activation_date', '>', now), eb('expiration_date', '<=', now)]),
      );
  }

  async function keptCount({ organizationId, type, vaultIds }: ResourceFilter): Promise<number> {
    let found = db.selectFrom('counts').where('organization_id', '=', organizationId);
    if (vaultIds === undefined) found = found.where('vault_id', '=', organizationId);
    else found = found.where('vault_id', 'in', [...vaultIds]).where(ofLivingVault);
    if (type !== undefined) found = found.where('type', '=', type);
    const row = await found.select(({ fn }) => fn.sum<number>('living').as('total')).executeTakeFirst();
    return Number(row?.total ?? 0);
  }

  /** What is counted by vault is what lies in vaults; the vaults themselves are few, and counted as they are. */
  async function vaultsAmong(filter: ResourceFilter): Promise<number> {
    const { vaultIds, type } = filter;
    if (vaultIds === undefined || (type !== undefined && type !== 'vault')) return 0;
    return countOf(everywhere({ ...filter, type: 'vault' }).where('resources.id', 'in', [...vaultIds]));
  }
}

function narrow(query: Found, filter: ResourceFilter): Found {
  let found = query
    .where('resources.organization_id', '=', filter.organizationId)
    .where('resources.deleted_at', filter.state === 'deleted' ? 'is not' : 'is', null);
  if (filter.type !== undefined)
    found = found.where(seldom.has(filter.state) ? unindexedType : 'resources.type', '=', filter.type);
  if (filter.vaultIds !== undefined) found = found.where('resources.vault_id', 'in', [...filter.vaultIds]);
  if (filter.q !== undefined)
    found = found.where(sql<boolean>`resources.name_search LIKE ${containing(filter.q)} ESCAPE '\\'`);
  if (filter.tagIndex !== undefined) found = tagged(found, filter.organizationId, filter.tagIndex);
  return found;
}

function tagged(found: Found, organizationId: string, tagIndex: string): Found {
  return found.where('resources.id', 'in', eb =>
    eb
      .selectFrom('tags')
      .select('resource_id')
      .where('tags.organization_id', '=', organizationId)
      .where('tag_index', '=', tagIndex),
  );
}

function inState(found: Found, { state, now }: ResourceFilter): Found {
  if (state === 'disabled') return found.where(mayBeInactive).where('enabled', '=', 0);
  if (state === 'expired') return found.where(mayBeInactive).where('expiration_date', '<=', now);
  if (state === 'inactive') return found.where(mayBeInactive).where('activation_date', '>', now);
  if (state !== 'active') return found;
  return found
    .where('enabled', '=', 1)
    .where(eb => eb.or([eb('activation_date', 'is', null), eb('activation_date', '<=', now)]))
    .where(eb => eb.or([eb('expiration_date', 'is', null), eb('expiration_date', '>', now)]));
}

async function countOf(found: Found): Promise<number> {
  const row = await found.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return row.total;
}
