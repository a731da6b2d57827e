/**
 * Lists of resources. A page and its total come from one query, which is compiled once for each form that it takes.
 * Both are found by indexes, however many there are: totals are kept beside the rows, and what a list leaves out of
 * them is counted instead of what it shows. What must be counted is counted up to a bound: beyond it, a total says
 * that there are so many at least, and always that there is a next page where there is one.
 */
import { type Selectable, sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';
import type { Page, PageOf } from '../engine/page.ts';
import { preparedForms } from '../engine/prepared.ts';
import type { Audited } from '../integrity/audited.ts';
import type { ResourceTable } from '../schema/schema.ts';
import { nameSearch } from './name-search.ts';
import { packedResource } from './packed-resources.ts';
import { packing, unpacker } from './packed-rows.ts';
import {
  type Form,
  filtered,
  formOf,
  type Given,
  givenOf,
  inState,
  isKept,
  mayBeInactive,
  type Query,
  type ResourceFilter,
} from './resource-filter.ts';
import { compare, orderedBy } from './resource-order.ts';

export interface ResourcePage extends PageOf<Selectable<ResourceTable> & Audited> {
  /** The same for the same rows, and for no others. */
  readonly text: string;
}

/** A page, and what its total is made of: what is kept of it and what is to be taken off, or what was counted. */
interface Found {
  readonly rows: string;
  readonly kept?: number;
  readonly vaults?: number;
  readonly inactive?: number;
  readonly newer?: number;
  readonly counted?: number;
}

const ofLivingVault = sql<boolean>`NOT EXISTS (SELECT 1 FROM resources AS vault
  WHERE vault.id = counts.vault_id AND vault.deleted_at IS NOT NULL)`;

const unpack = unpacker<Selectable<ResourceTable>>(packedResource);

export function resourceLists(
  reading: Pick<Engine, 'lists' | 'name'>,
  { candidatesFor } = nameSearch(reading),
) {
  const { lists: db, name: engine } = reading;
  const pageQuery = preparedForms(pageOf);
  const countQuery = preparedForms((form: Form, given: Given) =>
    db.selectNoFrom(counted(listedOf(form, given), given).as('counted')).compile(),
  );

  return {
    async page(filter: ResourceFilter, page: Page): Promise<ResourcePage> {
      const form = formOf(filter);
      const given = givenOf(filter, page, await candidatesFor(filter));
      const found = (await db.executeQuery<Found>(pageQuery(form, given))).rows[0]!;
      const total =
        totalOf(found, given.bound) ??
        (await db.executeQuery<Found>(countQuery(form, given))).rows[0]!.counted!;
      const rows = unpack(found.rows).sort(compare(form.order, given.now));
      // The same rows in another order are another page.
      return { text: `${form.order ?? ''}\n${found.rows}`, rows, total };
    },
  };

  function pageOf(form: Form, given: Given) {
    const listed = listedOf(form, given);
    const page = listed
      .selectAll('resources')
      .orderBy(orderedBy(form.order, engine, given.now))
      .limit(given.limit)
      .offset(given.offset);
    const rows = db.selectFrom(page.as('page')).select(packing(engine, packedResource).as('rows'));
    return db.selectNoFrom([rows.as('rows'), ...totalParts(form, given)]).compile();
  }

  function totalParts(form: Form, given: Given) {
    if (!isKept(form, given)) return [counted(listedOf(form, given), given).as('counted')];
    const { asOf, vaultIds } = given;
    const everything = inState(everywhere(form, given), form, given);
    return [
      keptCount(given).as('kept'),
      ...(vaultIds === undefined || form.of === 'contents'
        ? []
        : [vaultsAmong(given, vaultIds).as('vaults')]),
      ...(form.state === 'active' ? [counted(inactiveOf(form, given), given).as('inactive')] : []),
      ...(asOf === undefined
        ? []
        : [counted(everything.where('resources.id', '>', asOf), given).as('newer')]),
    ];
  }

  function everywhere(form: Form, given: Given): Query {
    return filtered(db.selectFrom('resources'), form, given);
  }

  function listedOf(form: Form, given: Given): Query {
    const found = inState(everywhere(form, given), form, given);
    return given.asOf === undefined ? found : found.where('resources.id', '<=', given.asOf);
  }

  function counted(found: Query, { bound }: Given) {
    const some = found.select(sql`1`.as('one')).limit(bound);
    return db.selectFrom(some.as('some')).select(({ fn }) => fn.countAll<number>().as('counted'));
  }

  function inactiveOf(form: Form, given: Given): Query {
    const { now } = given;
    return everywhere({ ...form, state: 'inactive' }, given)
      .where(mayBeInactive)
      .where(eb =>
        eb.or([eb('enabled', '=', 0), eb('activation_date', '>', now), eb('expiration_date', '<=', now)]),
      );
  }

  function keptCount({ organizationId, type, vaultIds }: Given) {
    let found = db.selectFrom('counts').where('organization_id', '=', organizationId);
    if (vaultIds === undefined) found = found.where('vault_id', '=', organizationId);
    else found = found.where('vault_id', 'in', [...vaultIds]).where(ofLivingVault);
    if (type !== undefined) found = found.where('type', '=', type);
    return found.select(({ fn }) => fn.sum<number>('living').as('kept'));
  }

  /** What is counted by vault is what lies in vaults; the vaults themselves are few, and counted as they are. */
  function vaultsAmong({ organizationId }: Given, vaultIds: readonly string[]) {
    return db
      .selectFrom('resources')
      .where('organization_id', '=', organizationId)
      .where('type', '=', 'vault')
      .where('deleted_at', 'is', null)
      .where('id', 'in', [...vaultIds])
      .select(({ fn }) => fn.countAll<number>().as('vaults'));
  }
}

/** Null where more had to be taken off than was counted: then what is left is counted itself. */
function totalOf(found: Found, bound: number): number | null {
  const { kept, vaults = 0, inactive = 0, newer = 0, counted } = found;
  if (counted !== undefined) return counted;
  if (inactive === bound || newer === bound) return null;
  return Math.max(0, Number(kept ?? 0) + vaults - inactive - newer);
}
