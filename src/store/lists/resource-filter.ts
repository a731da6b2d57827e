/** The conditions of a list of resources, written to match the indexes. */
import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import { containing, offsetOf, type Page } from '../engine/page.ts';
import { isDisabled } from '../schema/enabled.ts';
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
  /** Newest first if undefined. */
  readonly order?: Order | undefined;
  readonly now: number;
}

/** The parts of a list that determine its SQL. */
export interface Form {
  readonly state: ResourceFilter['state'];
  /** Vaults, their contents, or both. */
  readonly of: 'vaults' | 'contents' | 'all';
  readonly order: Order | undefined;
}

/** The values of a list. */
export interface Given extends Omit<ResourceFilter, 'q' | 'state' | 'order'>, Omit<Page, 'page'> {
  readonly like: string | undefined;
  /** The ids of the resources whose names may match, as JSON, if an index found them. */
  readonly candidates: string | undefined;
  readonly offset: number;
  /** One more than the limit for counting. */
  readonly bound: number;
}

export type Query = SelectQueryBuilder<Schema, 'resources', object>;

/** How many rows are counted if there is no stored total. */
export const mostCounted = 10_000;

/** Deleting a vault hides its contents, and restoring it shows them again. */
export const inLivingVault = sql<boolean>`NOT EXISTS (SELECT 1 FROM resources AS vault
  WHERE vault.id = resources.vault_id AND vault.id <> resources.id AND vault.deleted_at IS NOT NULL)`;

/** The same for a list: the few deleted vaults are looked up once, rather than for each row. */
const inLivingVaultOf = (
  organizationId: string,
) => sql<boolean>`(resources.type = 'vault' OR resources.vault_id NOT IN
  (SELECT vault.id FROM resources AS vault WHERE vault.organization_id = ${organizationId} AND vault.type = 'vault'
    AND vault.deleted_at IS NOT NULL))`;

/** An organization's vaults that are not deleted. */
export const livingVaults = (db: Kysely<Schema>, organizationId: string): Query =>
  db
    .selectFrom('resources')
    .where('organization_id', '=', organizationId)
    .where('type', '=', 'vault')
    .where('deleted_at', 'is', null);

/** Must match the condition of the index of resources that may be inactive, word for word. */
export const mayBeInactive = sql<boolean>`(resources.enabled = 0 OR resources.activation_date IS NOT NULL
  OR resources.expiration_date IS NOT NULL)`;
/** Prevents the planner from choosing the index by type, which it would prefer to the one above. */
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

/** The stored totals are per type and vault. */
export function isKept({ state }: Form, { like, tagIndex }: Given): boolean {
  return like === undefined && tagIndex === undefined && (state === undefined || state === 'active');
}

export function filtered(query: Query, { state }: Form, given: Given): Query {
  const { organizationId, type, vaultIds, like, candidates, tagIndex } = given;
  // If candidates were found through the name index, the planner must not choose another index.
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
  if (state === 'disabled') return found.where(mayBeInactive).where(isDisabled);
  if (state === 'expired') return found.where(mayBeInactive).where('expiration_date', '<=', now);
  if (state === 'inactive') return found.where(mayBeInactive).where('activation_date', '>', now);
  if (state !== 'active') return found;
  return found
    .where(eb => eb.not(isDisabled))
    .where(eb => eb.or([eb('activation_date', 'is', null), eb('activation_date', '<=', now)]))
    .where(eb => eb.or([eb('expiration_date', 'is', null), eb('expiration_date', '>', now)]));
}
