/**
 * Lists of resources. A page and its total come from one query, which is compiled once per form. Indexes serve both,
 * whatever the number of resources: totals are stored next to the rows, and the rows that a list excludes are counted
 * instead of those that it shows. Other counts stop at a limit. Beyond it a total is a lower bound, but it always shows
 * if there is a next page.
 */
import { type Selectable, sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';
import type { Page, PageOf } from '../engine/page.ts';
import { preparedForms } from '../engine/prepared.ts';
import type { Audited } from '../integrity/audited.ts';
import { isDisabled } from '../schema/enabled.ts';
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
  livingVaults,
  mayBeInactive,
  type Query,
  type ResourceFilter,
} from './resource-filter.ts';
import { compare, orderedBy } from './resource-order.ts';

export interface ResourcePage extends PageOf<Selectable<ResourceTable> & Audited> {
  /** Identical if and only if the rows are. */
  readonly text: string;
}

/** A page, and the parts of its total: the stored total and what to subtract from it, or a count. */
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
      // The same rows in a different order are a different page.
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
      .where(eb => eb.or([isDisabled, eb('activation_date', '>', now), eb('expiration_date', '<=', now)]));
  }

  function keptCount({ organizationId, type, vaultIds }: Given) {
    let found = db.selectFrom('counts').where('organization_id', '=', organizationId);
    if (vaultIds === undefined) found = found.where('vault_id', '=', organizationId);
    else found = found.where('vault_id', 'in', [...vaultIds]).where(ofLivingVault);
    if (type !== undefined) found = found.where('type', '=', type);
    return found.select(({ fn }) => fn.sum<number>('living').as('kept'));
  }

  /** Totals per vault include only their contents. The vaults themselves are few, and are counted directly. */
  function vaultsAmong({ organizationId }: Given, vaultIds: readonly string[]) {
    return livingVaults(db, organizationId)
      .where('id', 'in', [...vaultIds])
      .select(({ fn }) => fn.countAll<number>().as('vaults'));
  }
}

/** Returns null if the amount to subtract reached the limit. The rows themselves are then counted. */
function totalOf(found: Found, bound: number): number | null {
  const { kept, vaults = 0, inactive = 0, newer = 0, counted } = found;
  if (counted !== undefined) return counted;
  if (inactive === bound || newer === bound) return null;
  return Math.max(0, Number(kept ?? 0) + vaults - inactive - newer);
}
