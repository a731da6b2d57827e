/**
 * Reads the contents of a vault in stretches that are limited in rows and, once the vault is known, in size: a vault
 * with long values gets fewer rows per stretch. Rows are returned as stored and must be verified before use.
 */
import type { ResourceKind } from '../../access/caller.ts';
import type { Stretch as Packed, ResourceWithValue } from '../../store/records/resources.ts';
import type { Work } from '../kernel/fair-turns.ts';
import type { Parts } from '../kernel/parts.ts';

export interface Stretch extends Packed {
  readonly isLast: boolean;
}

const mostRows = 250;
const fewestRows = 8;
/** Target size of the packed rows, in characters. */
const aimedAt = 512 * 1024;
const mostKnown = 1_000;

export function stretchesWith({ store }: Pick<Parts, 'store'>) {
  /** The number of rows per stretch, for vaults where that is fewer than usual. */
  const known = new Map<string, number>();

  function learn(vaultId: string, { text, rows }: Packed): void {
    const fitting = Math.floor((rows.length * aimedAt) / text.length);
    if (text.length <= aimedAt || fitting >= (known.get(vaultId) ?? mostRows)) return;
    if (known.size >= mostKnown) known.delete(known.keys().next().value!);
    known.set(vaultId, Math.max(fewestRows, fitting));
  }

  async function read(vaultId: string, kind: ResourceKind, afterId?: string): Promise<Stretch> {
    const most = known.get(vaultId) ?? mostRows;
    const found = await store.resources.stretchWithValues(vaultId, kind, afterId, most);
    learn(vaultId, found);
    return { ...found, isLast: found.rows.length < most };
  }

  return {
    read,

    async *rowsFrom(
      first: Stretch,
      vaultId: string,
      kind: ResourceKind,
      turns: Work,
    ): AsyncIterable<ResourceWithValue> {
      for (let found = first; ; ) {
        await turns.pause();
        for (const row of found.rows) {
          await turns.pause();
          yield row;
        }
        if (found.isLast) return;
        await turns.resume();
        found = await read(vaultId, kind, found.rows.at(-1)!.id);
      }
    },
  };
}
