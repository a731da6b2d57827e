/**
 * Which run an access key belongs to, for lists of what access keys did. An index finds the run, and its own stamped row
 * says whether the access key is one of its keys.
 */
import type { RunRow } from '../../store/records/runs.ts';
import type { Parts } from '../kernel/parts.ts';
import { keysOf } from './run-records.ts';

interface OfKey {
  readonly access_key_id: string | null;
  readonly run_id: string | null;
}

/** Belongs to no access key. */
const noKey = '00000000-0000-0000-0000-000000000000';
/** How many entries are looked up at a time. */
const stretch = 500;

export function runsOfKeysWith({ store, stamps }: Pick<Parts, 'store' | 'stamps'>) {
  async function runsOf(
    organizationId: string,
    accessKeyIds: readonly string[],
  ): Promise<ReadonlyMap<string, RunRow>> {
    const { keys, rows } = await store.runs.ofAccessKeys(organizationId, accessKeyIds);
    const believed = new Map(rows.map(row => [row.id, stamps.run.believe<RunRow>(row)]));
    const found = keys.flatMap(({ run_id, access_key_id }): [string, RunRow][] => {
      const row = believed.get(run_id);
      const isIts = row !== undefined && keysOf(row).some(key => key.access_key_id === access_key_id);
      return isIts ? [[access_key_id, row]] : [];
    });
    return new Map(found);
  }

  async function noted<Item extends OfKey>(organizationId: string, items: readonly Item[]): Promise<Item[]> {
    const ids = new Set(items.flatMap(({ access_key_id: id }) => id ?? []));
    const runs = await runsOf(organizationId, [...ids]);
    return items.map(item => ({ ...item, run_id: runs.get(item.access_key_id ?? noKey)?.id ?? null }));
  }

  return {
    runsOf,
    noted,

    /** The access keys of a run; one that doesn't exist has the key of nobody. */
    async keysOf(organizationId: string, runId: string): Promise<string[]> {
      const found = await store.runs.byId(organizationId, runId);
      if (found === undefined) return [noKey];
      return keysOf(stamps.run.believe<RunRow>(found)).map(({ access_key_id }) => access_key_id);
    },

    async *notedInTurn<Item extends OfKey>(
      organizationId: string,
      items: AsyncIterable<Item>,
    ): AsyncIterable<Item> {
      let waiting: Item[] = [];
      for await (const item of items) {
        waiting.push(item);
        if (waiting.length < stretch) continue;
        yield* await noted(organizationId, waiting);
        waiting = [];
      }
      yield* await noted(organizationId, waiting);
    },
  };
}
