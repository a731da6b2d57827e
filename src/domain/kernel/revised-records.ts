/**
 * What all collections of revised records do alike. With a permit, a row is found, believed and revised; the change is
 * stored in one unit with its audit entry, and tried again where another one came first. What a caller may give, and what
 * makes a record sound, each collection checks itself.
 */
import type { Caller } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { List, PageQuery } from '../../contract/common.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { Page, PageOf } from '../../store/engine/page.ts';
import type { Audited } from '../../store/integrity/audited.ts';
import { listOf, type Noun } from './collection.ts';
import { retryingStale } from './conflict-retries.ts';
import type { Parts } from './parts.ts';
import type { Permit } from './permits.ts';
import type { Stamper } from './stamps.ts';
import type { Allowed, GuardedChange, MaybeAllowed, SubjectChange } from './subjects.ts';

interface RevisedRow {
  readonly id: string;
  readonly organization_id: string | null;
  readonly revision: number;
}

export interface RecordKind<Row, Item, Query, N extends Noun> {
  /** The noun of the permissions, from which the compiler knows which permits are required. */
  readonly noun: N;
  readonly stamper: Stamper<Row>;
  byId(organizationId: string, id: string): Promise<(Row & Audited) | undefined>;
  /** Null where the caller sees none of them. */
  page(permit: Permit<`${N}:read`>, page: Page, query: Query): Promise<PageOf<Row & Audited>> | null;
  present(rows: readonly Row[], permit: Permit): Item[] | Promise<Item[]>;
  update(row: Row): Statement;
  subject<A extends Action = never>(row: MaybeAllowed<Row, A>): SubjectChange<A>;
  /** The vault in which the caller sees a row; without one it is the whole organization's. */
  vaultOf?(row: Row, caller: Caller): string | null;
}

/** What a change is beside the row. What is touched is the row if omitted; `others` are changed along with it. */
type More<Write extends Action> = Omit<GuardedChange, 'subjects'> &
  Pick<SubjectChange, 'details' | 'lasts' | 'vaultId'> & {
    readonly others?: readonly SubjectChange<Write>[];
  };

export function revisedRecords<Row extends RevisedRow, Item, Query extends PageQuery, N extends Noun>(
  { guard, now }: Pick<Parts, 'guard' | 'now'>,
  { stamper, byId, page, present, update, subject, vaultOf }: RecordKind<Row, Item, Query, N>,
) {
  type Read = `${N}:read`;
  type Write = `${N}:write`;
  type Found = Allowed<Row, Write>;

  async function find<A extends Action>(permit: Permit<A>, id: string): Promise<Allowed<Row, A>> {
    const row = await byId(permit.caller.organizationId, id);
    const found = await guard.found(permit, row, row && vaultOf?.(row, permit.caller));
    return stamper.believe<Allowed<Row, A>>(found);
  }

  /** Stores what is new, or follows from a row that was found. */
  async function change(
    permit: Permit<Write>,
    verb: AuditAction,
    row: MaybeAllowed<Row, Write>,
    { details, lasts, vaultId, others = [], ...more }: More<Write>,
  ): Promise<void> {
    const itself = {
      ...subject<Write>(row),
      ...(details && { details }),
      ...(lasts && { lasts }),
      ...(vaultId && { vaultId }),
    };
    await guard.change<Write>(permit, verb, { subjects: [itself, ...others], touches: [row.id], ...more });
  }

  return {
    find,
    change,

    async list(permit: Permit<Read>, query: Query): Promise<List<Item>> {
      const found = await page(permit, { page: query.page, limit: query.limit, asOf: query.as_of }, query);
      if (found === null) return listOf<Item>([], 0, query);
      const believed = found.rows.map(row => stamper.believe<Row>(row));
      return listOf(await present(believed, permit), found.total, query);
    },

    async get(permit: Permit<Read>, id: string): Promise<Item> {
      return (await present([await find(permit, id)], permit))[0]!;
    },

    /** `work` judges the row that `next` makes of the columns that change, and says what goes with it. */
    async revise(
      permit: Permit<Write>,
      id: string,
      verb: AuditAction,
      work: (
        before: Found,
        next: (columns: Partial<Row>) => Found,
      ) => Promise<Partial<More<Write>> & { readonly row: Found }>,
    ): Promise<Item> {
      const revised = await retryingStale(async () => {
        const before = await find(permit, id);
        const { row, ...more } = await work(before, columns => stamper.revise(before, columns, now()));
        await change(permit, verb, row, { statements: [update(row)], ...more });
        return row;
      });
      return (await present([revised], permit))[0]!;
    },

    /** `work` says what takes the row away. */
    async remove(
      permit: Permit<Write>,
      id: string,
      verb: AuditAction,
      work: (before: Found) => More<Write> | Promise<More<Write>>,
    ): Promise<void> {
      await retryingStale(async () => {
        const before = await find(permit, id);
        await change(permit, verb, { ...before, revision: before.revision + 1 }, await work(before));
      });
    },
  };
}
