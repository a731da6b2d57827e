/**
 * Compares values and reveals only whether they are equal. It requires the permission to reveal all of them, so that
 * it can't be used to confirm guesses. Each comparison is recorded before anything is decrypted, and so is a refusal
 * because of the rate limit.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { Caller } from '../../access/caller.ts';
import { allows } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import { Failure } from '../../contract/errors.ts';
import { rateWindowAt } from '../../contract/rate-window.ts';
import type {
  ComparedSecrets,
  ComparedVaults,
  SecretsCompare,
  VaultsCompare,
} from '../../contract/resources.ts';
import { iso } from '../../contract/text.ts';
import { TimedTurns, type Work } from '../kernel/fair-turns.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Subject } from '../kernel/subjects.ts';
import { stateAt } from './lifecycle.ts';
import { openedValuesWith } from './opened-values.ts';
import type { Records } from './records.ts';
import type { OpenVault } from './sealing.ts';
import { stretchesWith } from './stretches.ts';
import { subjectOf } from './subject.ts';

export type Row = ComparedVaults['rows'][number];
type Cell = Row['cells'][number];

export type Comparisons = ReturnType<typeof comparisonsWith>;

/** The number of values that a caller may compare per minute. */
const mostCompared = 1_200;
/** What a comparison of whole vaults counts as, however many secrets they contain. */
const wholeComparison = 20;

const shownStates = {
  active: 'active',
  'not-active': 'inactive',
  expired: 'expired',
  disabled: 'disabled',
  deleted: 'disabled', // Deleted secrets are not read.
} as const;

export function comparisonsWith({ store, stamps, guard, now }: Parts, records: Records) {
  const opening = openedValuesWith(records);
  const stretches = stretchesWith({ store });
  const fairTurns = new TimedTurns();
  const inTurns = (caller: Caller, vaults: readonly OpenVault[], withValues: boolean) =>
    fairTurns.do({ organization: caller.organizationId, key: caller.id }, turns =>
      table(vaults, withValues, turns),
    );

  /** In addition to the plan's limit, which doesn't apply to sessions: per caller, across all replicas. */
  async function take(caller: Caller, verb: AuditAction, subject: Subject, values: number): Promise<void> {
    const { start, secondsLeft } = rateWindowAt(now());
    if ((await store.limits.take(caller.id, start, values)) <= mostCompared) return;
    await guard.limited(caller, verb, subject);
    throw new Failure('RATE_LIMITED', { retryAfter: secondsLeft });
  }

  async function* secretsOf(vault: OpenVault, turns: Work) {
    const first = await stretches.read(vault.row.id, 'secret');
    for await (const row of stretches.rowsFrom(first, vault.row.id, 'secret', turns))
      yield stamps.resource.check(row);
  }

  /** Keeps only digests under a key of this comparison, and returns only which of them are equal. */
  async function table(vaults: readonly OpenVault[], withValues: boolean, turns: Work) {
    const key = randomBytes(32);
    const shared = records.references.shared(vaults[0]!.row.organization_id, { turns });
    const rows = new Map<string, { cells: Cell[]; digests: string[] }>();
    for (const [column, vault] of vaults.entries()) {
      for await (const row of secretsOf(vault, turns)) {
        const found = rows.get(row.name) ?? { cells: vaults.map((): Cell => null), digests: [] };
        rows.set(row.name, found);
        const cell = {
          id: row.id,
          version: row.version,
          value: null,
          state: shownStates[stateAt(row, now())],
          updated_at: iso(row.updated_at),
        };
        found.cells[column] = cell;
        const value = withValues ? await opening.current(row, vault, shared) : null;
        if (value === null) continue;
        const digest = createHmac('sha256', key).update(value).digest('base64');
        found.cells[column] = { ...cell, value: numberOf(found.digests, digest) };
      }
    }
    return [...rows]
      .map(([name, { cells }]): Row => ({ name, cells }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Every name of the vaults, in order. Without the permission to reveal, nothing is said about the values. */
  async function compareAll(permit: Permit<'secrets:read'>, vaultIds: readonly string[]) {
    const { caller } = permit;
    const [first, ...others] = await Promise.all(vaultIds.map(id => records.openVault(permit, id)));
    const vaults = [first!, ...others];
    await take(caller, 'vault.compared', subjectOf(first!.row), wholeComparison);
    const mayReveal = vaults.every(({ row }) => allows(caller, 'secrets:reveal', row.id));
    if (!mayReveal) return { vaults, rows: await inTurns(caller, vaults, false) };
    const revealing = await guard.admit(caller, 'secrets:reveal');
    const details = { vaults: vaultIds };
    const subjects = vaults.map(({ row }) => ({ ...subjectOf(row), details }));
    const rows = await guard.reveal(revealing, 'vault.compared', [subjects[0]!, ...subjects.slice(1)], () =>
      inTurns(caller, vaults, true),
    );
    return { vaults, rows };
  }

  return {
    async compare(
      permit: Permit<'secrets:reveal'>,
      { vault_id, items }: SecretsCompare,
    ): Promise<ComparedSecrets> {
      const { caller } = permit;
      const opened = await records.openVault(permit, vault_id);
      const { row: vault } = opened;
      const compared = { ...subjectOf(vault), details: { secrets: items.length } };
      await take(caller, 'secrets.compared', compared, items.length);
      const shared = records.references.shared(caller.organizationId);
      return guard.reveal(permit, 'secrets.compared', [compared], async () => ({
        results: await Promise.all(
          items.map(async ({ name, value }) => {
            const named = await store.resources.byName(vault.id, 'secret', name);
            const found = named && (await store.resources.withValue(vault.id, named.id));
            if (found === undefined) return { name, id: null, version: null, same: false };
            const row = stamps.resource.check(found);
            const same = (await opening.current(row, opened, shared)) === value;
            return { name, id: row.id, version: row.version, same };
          }),
        ),
      }));
    },

    compareAll,

    async compareVaults(permit: Permit<'secrets:read'>, query: VaultsCompare): Promise<ComparedVaults> {
      const { rows } = await compareAll(permit, query.vault_ids);
      return pageOf(rows, query);
    },
  };
}

/** One page of the rows, or of those that differ. */
export function pageOf(
  rows: readonly Row[],
  { page, limit, different }: Omit<VaultsCompare, 'vault_ids'>,
): ComparedVaults {
  const shown = different ? rows.filter(({ cells }) => !isSame(cells)) : rows;
  const onPage = shown.slice((page - 1) * limit, page * limit);
  return { rows: onPage, pagination: { total: shown.length, page, limit } };
}

/** The place of a digest among those of a row, from 1. */
function numberOf(digests: string[], digest: string): number {
  const known = digests.indexOf(digest);
  return known < 0 ? digests.push(digest) : known + 1;
}

/** Whether every vault has it, and its readers get the same value. */
function isSame(cells: readonly Cell[]): boolean {
  return cells.every(cell => cell?.state === 'active' && cell.value === cells[0]?.value);
}
