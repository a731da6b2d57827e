/**
 * Many secrets at once: revealed, copied to another vault, or compared. A value leaves its vault only for those who
 * may reveal it, after an entry for each secret is durable. A comparison tells which values are the same and nothing
 * else of them; it takes the permission to reveal too, so that it confirms nobody's guesses, and each is recorded.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { Caller } from '../../access/caller.ts';
import { allows } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import type {
  ComparedSecrets,
  ComparedVaults,
  RevealedSecrets,
  Secret,
  SecretsCompare,
  SecretsCopy,
  VaultsCompare,
} from '../../contract/resources.ts';
import type { ResourceRow } from '../../store/resources.ts';
import type { Permit } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Allowed } from '../kernel/subjects.ts';
import type { Records } from './records.ts';
import type { OpenVault } from './sealing.ts';
import { presentSecret, type Secrets, type SecretWrite } from './secrets.ts';
import { revealedOf, subjectOf } from './subject.ts';

export type ManySecrets = ReturnType<typeof manySecretsWith>;

type Revealing = Permit<'secrets:reveal'>;

interface Opened {
  readonly row: Allowed<ResourceRow, 'secrets:reveal'>;
  readonly secret: Secret;
  /** Opens it. */
  readonly value: () => string;
}

type Cell = ComparedVaults['rows'][number]['cells'][number];

const stretch = 250;

export function manySecretsWith({ store, stamps, guard }: Parts, records: Records, secrets: Secrets) {
  async function find(permit: Revealing, id: string): Promise<Opened> {
    const row = await records.find(permit, 'secret', id);
    const found = await store.resources.version(row.id, row.version);
    if (found === undefined) throw new Failure('NOT_FOUND');
    const { value: sealed } = stamps.believeVersion(found);
    const { sealer } = await records.vaultOf(row);
    const secret = presentSecret({ row, labels: records.openLabels(row, sealer) });
    return { row, secret, value: () => records.openValue(row, sealer, sealed) };
  }

  async function findAll(permit: Revealing, ids: readonly string[]): Promise<[Opened, ...Opened[]]> {
    const [first, ...others] = await Promise.all(ids.map(id => find(permit, id)));
    return [first!, ...others];
  }

  const revealedAll = ([first, ...others]: [Opened, ...Opened[]]) =>
    [revealedOf(first.row), ...others.map(({ row }) => revealedOf(row))] as const;

  /** What the target has under the same name gets a new version; anything else is new there. */
  async function copyOf({ secret, value }: Opened, vaultId: string): Promise<SecretWrite> {
    const { name, content_type, tags, enabled, activation_date: from, expiration_date: to } = secret;
    const there = await store.resources.byName(vaultId, 'secret', name);
    if (there !== undefined) return { id: there.id, changes: { value: value(), content_type } };
    return {
      vault_id: vaultId,
      name,
      value: value(),
      content_type,
      tags,
      enabled,
      activation_date: from === null ? null : Date.parse(from),
      expiration_date: to === null ? null : Date.parse(to),
    };
  }

  async function copyAll(
    permit: Revealing,
    [first, ...others]: readonly Opened[],
    vaultId: string,
  ): Promise<(readonly [Opened, PromiseSettledResult<Secret>])[]> {
    if (first === undefined) return [];
    const found: [Opened, ...Opened[]] = [first, ...others];
    const copies = await guard.revealAll(permit, 'secret.copied', revealedAll(found), () =>
      Promise.all(found.map(one => copyOf(one, vaultId))),
    );
    const outcomes = await secrets.writeAll(permit.caller, copies);
    return found.map((one, index) => [one, outcomes[index]!] as const);
  }

  /** In stretches, so that others get a turn. */
  async function* secretsOf(vault: OpenVault) {
    for (let afterId: string | undefined; ; ) {
      const found = await store.resources.stretchWithValues(vault.row.id, 'secret', afterId, stretch);
      const rows = found.unpack().map(stamps.resource.check);
      yield* rows;
      if (found.count < stretch) return;
      afterId = rows.at(-1)!.id;
      await turn();
    }
  }

  /** Only digests under a key of this comparison are kept, and of those only which are equal. */
  async function table(vaults: readonly OpenVault[], withValues: boolean): Promise<Map<string, Cell[]>> {
    const key = randomBytes(32);
    const rows = new Map<string, { cells: Cell[]; digests: string[] }>();
    for (const [column, vault] of vaults.entries()) {
      for await (const row of secretsOf(vault)) {
        const found = rows.get(row.name) ?? { cells: vaults.map((): Cell => null), digests: [] };
        rows.set(row.name, found);
        found.cells[column] = { id: row.id, version: row.version, value: null };
        if (!withValues) continue;
        const value = records.openValue(row, vault.sealer, row.value);
        const digest = createHmac('sha256', key).update(value).digest('base64');
        const known = found.digests.indexOf(digest);
        found.cells[column] = {
          id: row.id,
          version: row.version,
          value: known < 0 ? found.digests.push(digest) : known + 1,
        };
      }
    }
    return new Map([...rows].map(([name, { cells }]) => [name, cells]));
  }

  return {
    async reveal(caller: Caller, ids: readonly string[]): Promise<RevealedSecrets> {
      const permit = await guard.admit(caller, 'secrets:reveal');
      const found = await findAll(permit, ids);
      return guard.revealAll(permit, 'secret.revealed', revealedAll(found), () => ({
        data: found.map(({ secret, value }) => ({ ...secret, value: value() })),
      }));
    },

    /** Each has an outcome of its own. */
    async copy(
      caller: Caller,
      { secret_ids, vault_id, move = false }: SecretsCopy,
    ): Promise<PromiseSettledResult<Secret>[]> {
      const permit = await guard.admit(caller, 'secrets:reveal');
      const writing = await guard.admit(caller, 'secrets:write');
      const target = await records.openVault(writing, vault_id);
      const found = await findAll(permit, secret_ids);
      const elsewhere = found.filter(({ row }) => row.vault_id !== target.row.id);
      const copied = new Map(await copyAll(permit, elsewhere, target.row.id));
      if (move) {
        for (const [{ row }, { status }] of copied)
          if (status === 'fulfilled') await secrets.remove(caller, row.id, false);
      }
      return found.map(one => copied.get(one) ?? { status: 'rejected', reason: alreadyThere() });
    },

    async compare(caller: Caller, { vault_id, items }: SecretsCompare): Promise<ComparedSecrets> {
      const permit = await guard.admit(caller, 'secrets:reveal');
      const { row: vault, sealer } = await records.openVault(permit, vault_id);
      const compared = { ...subjectOf(vault), details: { secrets: items.length } };
      return guard.reveal(permit, 'secrets.compared', compared, async () => ({
        results: await Promise.all(
          items.map(async ({ name, value }) => {
            const named = await store.resources.byName(vault.id, 'secret', name);
            const found = named && (await store.resources.withValue(vault.id, named.id));
            if (found === undefined) return { name, id: null, version: null, same: false };
            const row = stamps.resource.check(found);
            const same = records.openValue(row, sealer, row.value) === value;
            return { name, id: row.id, version: row.version, same };
          }),
        ),
      }));
    },

    /** Without the permission to reveal, it tells what is where and nothing of values. */
    async compareVaults(caller: Caller, query: VaultsCompare): Promise<ComparedVaults> {
      const permit = await guard.admit(caller, 'secrets:read');
      const [first, ...others] = await Promise.all(query.vault_ids.map(id => records.openVault(permit, id)));
      const vaults = [first!, ...others];
      const mayReveal = vaults.every(({ row }) => allows(caller, 'secrets:reveal', row.id));
      if (!mayReveal) return pageOf(await table(vaults, false), query);
      const revealing = await guard.admit(caller, 'secrets:reveal');
      const details = { vaults: query.vault_ids };
      const subjects = vaults.map(({ row }) => ({ ...subjectOf(row), details }));
      const compared = await guard.revealAll(
        revealing,
        'vault.compared',
        [subjects[0]!, ...subjects.slice(1)],
        () => table(vaults, true),
      );
      return pageOf(compared, query);
    },
  };
}

function alreadyThere(): Failure {
  return new Failure('CONFLICT', { field: 'vault_id', reason: 'is the vault that it is in' });
}

function pageOf(table: ReadonlyMap<string, Cell[]>, query: VaultsCompare): ComparedVaults {
  const { page, limit, different } = query;
  const rows = [...table].map(([name, cells]) => ({ name, cells }));
  const shown = (different ? rows.filter(({ cells }) => !isSame(cells)) : rows).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  const onPage = shown.slice((page - 1) * limit, page * limit);
  return { rows: onPage, pagination: { total: shown.length, page, limit } };
}

function isSame(cells: readonly Cell[]): boolean {
  return cells.every(cell => cell !== null && cell.value === cells[0]?.value);
}
