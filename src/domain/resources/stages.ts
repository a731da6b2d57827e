/**
 * Stages: vaults in an order, whose secrets are compared and renamed together. A stage belongs to the organization, and
 * only those who may change every vault create and change stages: their names would otherwise tell about stages that a
 * caller can't see. Everyone else sees the stages of their vaults, with these vaults only.
 */
import type { Caller } from '../../access/caller.ts';
import { type Action, allows } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import type {
  ComparedStage,
  RenamedInStage,
  Stage,
  StageCompare,
  StageCreate,
  StageQuery,
  StageRename,
  StageUpdate,
} from '../../contract/stages.ts';
import { iso } from '../../contract/text.ts';
import type { PageOf } from '../../store/engine/page.ts';
import type { AuditedStage, StageRow } from '../../store/records/stages.ts';
import { retryingStale, StaleChange } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import { named } from '../kernel/row-check.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import { type Comparisons, pageOf, type Row } from './comparisons.ts';
import type { Records } from './records.ts';
import { type MayWrite, notFoundIn } from './subject.ts';

type Writing = Permit<'vaults:write'>;

export function stagesWith(parts: Parts, records: Records, comparisons: Comparisons) {
  const { store, stamps, guard } = parts;

  const { list, get, change, revise, remove } = revisedRecords(parts, {
    noun: 'vaults',
    stamper: stamps.stage,
    byId: store.stages.byId,
    page: ({ caller, vaults }, page, { q }: StageQuery) =>
      vaults === null
        ? store.stages.page(caller.organizationId, page, q)
        : pageWithin(vaults, store.stages.all(caller.organizationId, q), page),
    present: presentAll,
    update: store.stages.update,
    subject: stageChange,
    vaultOf: (row, caller) => seenIn(row, caller),
  });

  async function presentAll(rows: readonly StageRow[], permit: Permit): Promise<Stage[]> {
    const ids = [...new Set(rows.flatMap(vaultIdsOf))];
    const living = await store.stages.living(permit.caller.organizationId, ids);
    return rows.map(row =>
      present(
        row,
        vaultIdsOf(row).filter(id => living.has(id) && covers(permit, id)),
      ),
    );
  }

  /** The vaults of a stage in which the caller has both permits. */
  async function vaultsOf(permit: Permit<'vaults:read'>, reading: Permit<'secrets:read'>, id: string) {
    const { vault_ids } = await get(permit, id);
    return vault_ids.filter(vaultId => covers(reading, vaultId));
  }

  /** Whoever may not change all vaults is refused before anything is looked up. */
  const checkWhole = ({ caller }: Writing) =>
    guard.mayShow(caller, ['vaults:write'], undefined, { because: 'A stage belongs to the organization' });

  return {
    list,
    get,

    async create(permit: Writing, { name, vault_ids }: StageCreate): Promise<Stage> {
      await checkWhole(permit);
      const row = newStage(parts, permit.caller.organizationId, name, vault_ids);
      await records.checkVaults(permit, vault_ids);
      await change(permit, 'stage.created', row, { statements: [store.stages.insert(row)] });
      return present(row, vault_ids);
    },

    async update(permit: Writing, id: string, body: StageUpdate): Promise<Stage> {
      await checkWhole(permit);
      return revise(permit, id, 'stage.updated', async (before, next) => {
        const known = vaultIdsOf(before);
        const { name = before.name, vault_ids = known } = body;
        await records.checkVaults(
          permit,
          vault_ids.filter(vaultId => !known.includes(vaultId)),
        );
        return { row: next({ ...named(name), vault_ids: JSON.stringify(vault_ids) }) };
      });
    },

    async remove(permit: Writing, id: string): Promise<void> {
      await checkWhole(permit);
      await remove(permit, id, 'stage.deleted', before => ({
        statements: [store.stages.remove(id, before.revision)],
      }));
    },

    /** Every name of the stage's vaults. It counts as a comparison of vaults, and needs the same permissions. */
    async compare(
      permit: Permit<'vaults:read'>,
      reading: Permit<'secrets:read'>,
      id: string,
      { missing, ...query }: StageCompare,
    ): Promise<ComparedStage> {
      const ids = await vaultsOf(permit, reading, id);
      const { vaults, rows } =
        ids.length === 0 ? { vaults: [], rows: [] } : await comparisons.compareAll(reading, ids);
      const absent = rows.filter(isMissingInLast);
      return {
        vaults: vaults.map(({ row }) => ({ id: row.id, name: row.name })),
        missing: absent.length,
        ...pageOf(missing ? absent : rows, query),
      };
    },

    /** Renames the secret in all vaults of the stage that have one with its name, or in none. */
    async rename(
      permit: Permit<'vaults:read'>,
      reading: Permit<'secrets:read'>,
      writing: MayWrite<'secret'>,
      id: string,
      { secret_id, name }: StageRename,
    ): Promise<RenamedInStage> {
      const ids = await vaultsOf(permit, reading, id);
      return retryingStale(async () => {
        const known = await records.find(reading, 'secret', secret_id).catch(notHere);
        if (!ids.includes(known.vault_id)) notHere(new Failure('NOT_FOUND'));
        const stored = await Promise.all(ids.map(one => store.resources.byName(one, 'secret', known.name)));
        const [first, ...others] = await Promise.all(
          stored.flatMap(row =>
            row === undefined ? [] : records.revision(writing, 'secret', row.id, asKnown(known.name, name)),
          ),
        );
        if (first === undefined) throw new StaleChange();
        await records.storeAll(writing, 'secret.updated', [first, ...others]);
        return {
          data: [first, ...others].map(({ row }) => ({ id: row.id, name: row.name, vault_id: row.vault_id })),
        };
      });
    },
  };
}

export function newStage(
  { stamps, now, newId }: Pick<Parts, 'stamps' | 'now' | 'newId'>,
  organizationId: string,
  name: string,
  vaultIds: readonly string[],
): StageRow {
  return stamps.stage.create(now(), {
    id: newId(),
    organization_id: organizationId,
    ...named(name),
    vault_ids: JSON.stringify(vaultIds),
  });
}

export function vaultIdsOf(row: Pick<StageRow, 'vault_ids'>): string[] {
  return JSON.parse(row.vault_ids) as string[];
}

function covers({ vaults }: Permit, vaultId: string): boolean {
  return vaults === null || vaults.includes(vaultId);
}

/** A vault of the stage that the caller sees, which is how they see the stage. */
function seenIn(row: StageRow, caller: Caller): string | null {
  return vaultIdsOf(row).find(id => allows(caller, 'vaults:read', id)) ?? null;
}

/** There are few stages, so those of some vaults are selected here. */
async function pageWithin(
  vaults: readonly string[],
  all: Promise<readonly AuditedStage[]>,
  { page, limit, asOf }: { page: number; limit: number; asOf?: string | undefined },
): Promise<PageOf<AuditedStage>> {
  const seen = (await all).filter(
    row => (asOf === undefined || row.id <= asOf) && vaultIdsOf(row).some(id => vaults.includes(id)),
  );
  return { rows: seen.slice((page - 1) * limit, page * limit), total: seen.length };
}

function isMissingInLast({ cells }: Row): boolean {
  return cells.length > 1 && cells.at(-1) === null;
}

/** Refuses, to be tried again, a secret that got another name in the meantime. */
function asKnown(known: string, name: string) {
  return (before: { readonly name: string }) => {
    if (before.name !== known) throw new StaleChange();
    return { name };
  };
}

const notHere = notFoundIn('secret_id', 'is not the id of a secret in these vaults');

export function stageChange<A extends Action = never>(row: MaybeAllowed<StageRow, A>): SubjectChange<A> {
  const { id, name, revision } = row;
  return { type: 'stage', id, name, revision, details: { vault_ids: vaultIdsOf(row) } };
}

function present(row: StageRow, vault_ids: string[]): Stage {
  return {
    id: row.id,
    name: row.name,
    vault_ids,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
