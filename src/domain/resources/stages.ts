/**
 * Stages: vaults in an order, whose secrets are compared and renamed together. A stage is created, changed and deleted by
 * those who may change each of its vaults; everyone else sees the stages of their vaults, with these vaults only. Names
 * are unique among those given with a role in the organization, and among those given by each other caller, so that no
 * answer tells of a stage that the caller can't see.
 */
import { type Caller, memberBehind } from '../../access/caller.ts';
import { type Action, allows } from '../../access/policy.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type {
  ComparedStage,
  Stage,
  StageCompare,
  StageCreate,
  StageQuery,
  StageRename,
  StageUpdate,
} from '../../contract/stages.ts';
import { iso } from '../../contract/text.ts';
import type { PageOf } from '../../store/engine/page.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { AuditedStage, StageRow } from '../../store/records/stages.ts';
import { retryingStale, StaleChange } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import { named } from '../kernel/row-check.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import { type Comparisons, pageOf, type Row } from './comparisons.ts';
import type { Records } from './records.ts';
import { ProposalMade } from './review.ts';
import { isReviewed } from './sealing.ts';
import { type MayWrite, notFoundIn } from './subject.ts';
import type { Write } from './writes.ts';

type Writing = Permit<'vaults:write'>;

/** Stages that contain the same vault. Each is compared every minute. */
const mostOfVault = 50;

/** A secret of a stage, with its old name if the new one waits for review. */
type Renamed = Pick<ResourceRow, 'id' | 'name' | 'vault_id'> & { readonly made?: ProposalMade };

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

  /** In a vault with review it is stored when somebody confirms it, so that its name could be in use only there. */
  async function checkFree(rows: readonly ResourceRow[], name: string): Promise<void> {
    for (const { id, vault_id } of rows) {
      const there = await store.resources.byName(vault_id, 'secret', name);
      if (there !== undefined && there.id !== id)
        throw new Failure('CONFLICT', { field: 'name', reason: 'is already in use' });
    }
  }

  async function renamedIn(writing: MayWrite<'secret'>, row: ResourceRow, name: string): Promise<Renamed> {
    try {
      return (await records.revise(writing, 'secret', row.id, asKnown(row.name, name))).row;
    } catch (error) {
      if (!(error instanceof ProposalMade)) throw error;
      const { id, vault_id } = row;
      return { id, vault_id, name: row.name, made: error };
    }
  }

  /** Refuses a caller who may not change each of these vaults; they see one of them. */
  const checkAll = ({ caller, vaults }: Writing, ids: readonly string[]) =>
    guard.mayShow(caller, ['vaults:write'], vaults === null ? [] : ids, {
      because: 'A stage is changed by those who may change each of its vaults',
    });

  /** The caller sees each of these vaults, and so all of their stages. */
  async function checkRoom({ caller }: Writing, ids: readonly string[]): Promise<void> {
    const all = (await store.stages.all(caller.organizationId)).map(vaultIdsOf);
    if (ids.some(id => all.filter(vaultIds => vaultIds.includes(id)).length >= mostOfVault))
      throw invalid('vault_ids', `contains a vault that is in ${mostOfVault} stages already`);
  }

  return {
    list,
    get,

    async create(permit: Writing, { name, vault_ids }: StageCreate): Promise<Stage> {
      await records.checkVaults(permit, vault_ids);
      await checkRoom(permit, vault_ids);
      const given = stageNamedBy(permit, name);
      const row = newStage(parts, permit.caller.organizationId, given, vault_ids);
      await change(permit, 'stage.created', row, {
        ...placeIn(permit, vault_ids),
        statements: [store.stages.insert(row)],
      });
      return present(row, vault_ids);
    },

    async update(permit: Writing, id: string, body: StageUpdate): Promise<Stage> {
      return revise(permit, id, 'stage.updated', async (before, next) => {
        const known = vaultIdsOf(before);
        await checkAll(permit, known);
        const { name, vault_ids = known } = body;
        const given =
          name === undefined || name === stageNameOf(before) ? before.name : stageNamedBy(permit, name);
        const added = vault_ids.filter(vaultId => !known.includes(vaultId));
        await records.checkVaults(permit, added);
        await checkRoom(permit, added);
        return {
          ...placeIn(permit, vault_ids),
          row: next({ ...named(given), vault_ids: JSON.stringify(vault_ids) }),
        };
      });
    },

    async remove(permit: Writing, id: string): Promise<void> {
      await remove(permit, id, 'stage.deleted', async before => {
        await checkAll(permit, vaultIdsOf(before));
        return {
          ...placeIn(permit, vaultIdsOf(before)),
          statements: [store.stages.remove(id, before.revision)],
        };
      });
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

    /**
     * Renames the secret in all vaults of the stage that have one with its name, or in none. In a vault with review, it
     * is proposed once the others are renamed.
     */
    async rename(
      permit: Permit<'vaults:read'>,
      reading: Permit<'secrets:read'>,
      writing: MayWrite<'secret'>,
      id: string,
      { secret_id, name }: StageRename,
    ): Promise<Renamed[]> {
      const ids = await vaultsOf(permit, reading, id);
      const { done, reviewed } = await retryingStale(async again => {
        if (again) ids.forEach(records.forgetVault);
        const known = await records.find(reading, 'secret', secret_id).catch(notHere);
        if (!ids.includes(known.vault_id)) notHere(new Failure('NOT_FOUND'));
        const stored = await Promise.all(ids.map(one => store.resources.byName(one, 'secret', known.name)));
        const all = await Promise.all(
          stored.flatMap(row =>
            row === undefined ? [] : records.revision(writing, 'secret', row.id, asKnown(known.name, name)),
          ),
        );
        if (all.length === 0) throw new StaleChange();
        const isWaiting = ({ vault }: Write<'secrets:write'>) =>
          isReviewed(vault.row) && writing.caller.bypass === undefined;
        const reviewed = all.filter(isWaiting).map(({ row }) => ({ ...row, name: known.name }));
        await checkFree(reviewed, name);
        const [first, ...others] = all.filter(write => !isWaiting(write));
        if (first !== undefined) await records.storeAll(writing, 'secret.updated', [first, ...others]);
        const done: Renamed[] = first === undefined ? [] : [first, ...others].map(({ row }) => row);
        return { done, reviewed };
      });
      for (const row of reviewed) done.push(await renamedIn(writing, row, name));
      return done;
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

/** Between a name and whoever gave it, if they have no role in the organization. No name contains it. */
const namerMark = '\n';

function stageNamedBy({ caller, vaults }: Writing, name: string): string {
  return vaults === null ? name : `${name}${namerMark}${memberBehind(caller) ?? caller.id}`;
}

export function stageNameOf({ name }: Pick<StageRow, 'name'>): string {
  return name.split(namerMark)[0]!;
}

/** Where a change happens for a caller who may change some vaults; otherwise in the organization. */
function placeIn({ vaults }: Writing, [first]: readonly string[]): { readonly vaultId?: string | undefined } {
  return vaults === null ? {} : { vaultId: first };
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
  const { id, revision } = row;
  return { type: 'stage', id, name: stageNameOf(row), revision, details: { vault_ids: vaultIdsOf(row) } };
}

function present(row: StageRow, vault_ids: string[]): Stage {
  return {
    id: row.id,
    name: stageNameOf(row),
    vault_ids,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
