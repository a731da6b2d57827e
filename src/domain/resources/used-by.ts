/**
 * What a secret refers to, and what refers to it, at any depth. Only secrets that the caller may see are shown, and only
 * what is reached through those; whether there are others is not said. Each entry of the index is compared with the row
 * of the template before it is shown.
 */
import type { Caller } from '../../access/caller.ts';
import { allows } from '../../access/policy.ts';
import type { LinkedSecret, SecretLinks, VaultLinks } from '../../contract/secrets.ts';
import { longestChain } from '../../contract/templates.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { stateAt } from './lifecycle.ts';
import type { Records } from './records.ts';
import { targetIdsOf } from './templates.ts';

/** Templates that are shown. */
const mostShown = 100;
/** Templates that are read for it, of which the caller may see only some. */
const mostRead = 2_000;
const rowsAtOnce = 200;

interface Linked {
  readonly row: ResourceRow;
  /** How many references there are in between. */
  readonly depth: number;
  readonly direct: boolean;
}

export function usedByWith({ store, stamps, guard, now }: Parts, records: Records) {
  async function* referrersOf(id: string): AsyncIterable<ResourceRow> {
    for (let before: string | undefined; ; ) {
      const rows = await store.references.referrers(id, before, rowsAtOnce);
      for (const row of rows) yield stamps.resource.believe(row);
      if (rows.length < rowsAtOnce) return;
      before = rows.at(-1)!.id;
    }
  }

  /** What refers to a secret, then what refers to those of them that were found to be shown, and so on. */
  async function* above(secretId: string, found: ReadonlyMap<string, Linked>) {
    for (let depth = 1; depth <= longestChain; depth++) {
      const below = [...found].flatMap(([id, one]) => (one.depth === depth - 1 ? id : []));
      for (const id of depth === 1 ? [secretId] : below)
        for await (const row of referrersOf(id)) yield { row, id, depth };
    }
  }

  /** By their distance, nearest first. */
  async function referrers(caller: Caller, secret: ResourceRow) {
    const found = new Map<string, Linked>();
    let read = 0;
    const isSeen = (row: ResourceRow, id: string) =>
      targetIdsOf(row).includes(id) && allows(caller, 'secrets:read', row.vault_id);
    for await (const { row, id, depth } of above(secret.id, found)) {
      if (++read > mostRead || found.size > mostShown) return { found, complete: false };
      if (!found.has(row.id) && isSeen(row, id)) found.set(row.id, { row, depth, direct: depth === 1 });
    }
    return { found, complete: found.size <= mostShown };
  }

  async function shown(caller: Caller, rows: readonly Pick<Linked, 'row' | 'direct'>[]) {
    const names = new Map<string, string | null>();
    const items: LinkedSecret[] = [];
    for (const { row, direct } of rows) {
      if (!names.has(row.vault_id)) names.set(row.vault_id, await vaultName(caller, row));
      const { id, name, vault_id } = row;
      const isActive = stateAt(row, now()) === 'active';
      items.push({ id, name, vault_id, vault_name: names.get(vault_id) ?? null, active: isActive, direct });
    }
    return items;
  }

  async function vaultName(caller: Caller, row: ResourceRow): Promise<string | null> {
    if (!allows(caller, 'vaults:read', row.vault_id)) return null;
    return (await records.vaultOf(row)).row.name;
  }

  async function targets({ caller }: Permit, secret: ResourceRow) {
    const found: Pick<Linked, 'row' | 'direct'>[] = [];
    for (const id of targetIdsOf(secret)) {
      const row = await store.resources.byId(caller.organizationId, id);
      if (row !== undefined && allows(caller, 'secrets:read', row.vault_id))
        found.push({ row: stamps.resource.believe(row), direct: true });
    }
    return shown(caller, found);
  }

  return {
    /** The templates of other vaults that can't be resolved without this one. */
    async ofVault(
      permit: Permit<'vaults:read'>,
      reading: Permit<'secrets:read'>,
      id: string,
    ): Promise<VaultLinks> {
      const vault = await records.find(await guard.within(permit, reading), 'vault', id);
      const rows = await store.references.intoVault(vault.id, mostRead + 1);
      const found = new Map<string, Pick<Linked, 'row' | 'direct'>>();
      for (const { target_id, ...stored } of rows.slice(0, mostRead)) {
        const row = stamps.resource.believe<ResourceRow>(stored);
        if (targetIdsOf(row).includes(target_id) && allows(permit.caller, 'secrets:read', row.vault_id))
          found.set(row.id, { row, direct: true });
      }
      const used_by = await shown(permit.caller, [...found.values()].slice(0, mostShown));
      return { used_by, complete: rows.length <= mostRead && found.size <= mostShown };
    },

    async of(permit: Permit<'secrets:read'>, id: string): Promise<SecretLinks> {
      const { caller } = permit;
      const row = await records.find(permit, 'secret', id);
      const { found, complete } = await referrers(caller, row);
      const used_by = await shown(caller, [...found.values()].slice(0, mostShown));
      return { refers_to: await targets(permit, row), used_by, complete };
    },
  };
}
