/** Which resources a list is of, as conditions that the indexes fit. */
import { type SelectQueryBuilder, sql } from 'kysely';
import { containing, offsetOf, type Page } from '../engine/page.ts';
import type { Schema } from '../schema/schema.ts';
import type { Order } from './resource-order.ts';

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
  /** Newest first where it is left out. */
  readonly order?: Order | undefined;
  readonly now: number;
}

/** What the SQL of a list depends on. */
export interface Form {
  readonly state: ResourceFilter['state'];
  /** Vaults, or what lies in them, or both. */
  readonly of: 'vaults' | 'contents' | 'all';
  readonly order: Order | undefined;
}

/** What each list brings to it. */
export interface Given {
  readonly organizationId: string;
  readonly type: string | undefined;
  readonly vaultIds: readonly string[] | undefined;
  readonly like: string | undefined;
  /** The ids of the few whose names may match, as JSON, where an index found them. */
  readonly candidates: string | undefined;
  readonly tagIndex: string | undefined;
  readonly now: number;
  readonly asOf: string | undefined;
  readonly limit: number;
  readonly offset: number;
  /** One more than is counted. */
  readonly bound: number;
}

export type Query = SelectQueryBuilder<Schema, 'resources', object>;

/** How many are counted where no total is kept. */
export const mostCounted = 10_000;

/** With a vault all that it holds is gone from sight, and comes back with it. */
export const inLivingVault = sql<boolean>`NOT EXISTS (SELECT 1 FROM resources AS vault
  WHERE vault.id = resources.vault_id AND vault.id <> resources.id AND vault.deleted_at IS NOT NULL)`;

/** The same for a list: the few vaults that are deleted are looked up once, not again for each row. */
const inLivingVaultOf = (
  organizationId: string,
) => sql<boolean>`(resources.type = 'vault' OR resources.vault_id NOT IN
  (SELECT vault.id FROM resources AS vault WHERE vault.organization_id = ${organizationId} AND vault.type = 'vault'
    AND vault.deleted_at IS NOT NULL))`;

/** Word for word what the index of the few that may not be active says. */
export const mayBeInactive = sql<boolean>`(resources.enabled = 0 OR resources.activation_date IS NOT NULL
  OR resources.expiration_date IS NOT NULL)`;
/** A type that no index can be chosen by: the one of a type would be taken for a better one than the above. */
const unindexedType = sql<string>`(resources.type || '')`;
const seldom = new Set<ResourceFilter['state']>(['inactive', 'expired', 'disabled']);

export function formOf({ type, state, order }: ResourceFilter): Form {
  return { state, order, of: type === undefined ? 'all' : type === 'vault' ? 'vaults' : 'contents' };
}

export function givenOf(filter: ResourceFilter, page: Page, candidates: string | null): Given {
  const { organizationId, type, vaultIds, q, tagIndex, now } = filter;
  const offset = offsetOf(page);
  return {
    organizationId,
    type,
    vaultIds,
    like: q === undefined ? undefined : containing(q),
    candidates: candidates ?? undefined,
    tagIndex,
    now,
    asOf: page.asOf,
    limit: page.limit,
    offset,
    bound: Math.max(mostCounted, offset + page.limit) + 1,
  };
}

/** The kept totals know types and vaults. */
export function isKept({ state }: Form, { like, tagIndex }: Given): boolean {
  return like === undefined && tagIndex === undefined && (state === undefined || state === 'active');
}

export function filtered(query: Query, { state }: Form, given: Given): Query {
  const { organizationId, type, vaultIds, like, candidates, tagIndex } = given;
  // Where the names were found by their index, no other is to be taken for a better one.
  const column = (name: 'organization_id' | 'type' | 'vault_id') =>
    candidates === undefined
      ? sql.ref<string>(`resources.${name}`)
      : sql<string>`+${sql.ref(`resources.${name}`)}`;
  let found = query
    .where(inLivingVaultOf(organizationId))
    .where(column('organization_id'), '=', organizationId)
    .where('resources.deleted_at', state === 'deleted' ? 'is not' : 'is', null);
  if (type !== undefined) found = found.where(seldom.has(state) ? unindexedType : column('type'), '=', type);
  if (vaultIds !== undefined) found = found.where(column('vault_id'), 'in', [...vaultIds]);
  if (candidates !== undefined)
    found = found.where(sql<boolean>`resources.id IN (SELECT value FROM json_each(${candidates}))`);
  if (like !== undefined) found = found.where(sql<boolean>`resources.name_search LIKE ${like} ESCAPE '\\'`);
  if (tagIndex !== undefined) found = tagged(found, organizationId, tagIndex);
  return found;
}

function tagged(found: Query, organizationId: string, tagIndex: string): Query {
  return found.where('resources.id', 'in', eb =>
    eb
      .selectFrom('tags')
      .select('resource_id')
      .where('tags.organization_id', '=', organizationId)
      .where('tag_index', '=', tagIndex),
  );
}

export function inState(found: Query, { state }: Form, { now }: Given): Query {
  if (state === 'disabled') return found.where(mayBeInactive).where('enabled', '=', 0);
  if (state === 'expired') return found.where(mayBeInactive).where('expiration_date', '<=', now);
  if (state === 'inactive') return found.where(mayBeInactive).where('activation_date', '>', now);
  if (state !== 'active') return found;
  return found
    .where('enabled', '=', 1)
    .where(eb => eb.or([eb('activation_date', 'is', null), eb('activation_date', '<=', now)]))
    .where(eb => eb.or([eb('expiration_date', 'is', null), eb('expiration_date', '>', now)]));
}
