/**
 * Takes stages over from the tags of vaults, where earlier versions stored them: `stage: NAME/N`, with the name of the
 * stage and the vault's position in it. This is done once for each organization that existed before stages had records
 * of their own. The tags stay as they are and have no meaning any more: a replica of an earlier version that still runs
 * beside this one goes on showing them.
 */
import { trustedCaller } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import { mostVaults } from '../../contract/many-secrets.ts';
import { name as nameSchema } from '../../contract/text.ts';
import { isStored } from '../../store/engine/engine.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Labelled } from '../resources/lookup.ts';
import type { Records } from '../resources/records.ts';
import { newStage, stageChange } from '../resources/stages.ts';

const tag = 'stage';
const shape = /^(.+)\/(\d{1,9})$/;
const perStep = 20;
const perPage = 100;

export function stageTakeoverWith(parts: Parts, records: Records) {
  const { store, guard, newId } = parts;

  async function take(organizationId: string): Promise<void> {
    const service = trustedCaller('service', 'service', 'Strongroom', organizationId, newId());
    const permit = await guard.admit(service, 'vaults:write');
    const vaults = new Map<string, Labelled>();
    for (let page = 1; ; page++) {
      const { items } = await records.list(permit, 'vault', { page, limit: perPage });
      for (const item of items) vaults.set(item.row.id, item);
      if (items.length < perPage) break;
    }
    const known = new Set((await store.stages.all(organizationId)).map(({ name }) => name));
    const [first, ...others] = [...ordersIn([...vaults.values()])]
      .filter(([name]) => !known.has(name))
      .map(([name, ids]) => newStage(parts, organizationId, name, ids.slice(0, mostVaults)));
    const taken = store.stages.takeTags(organizationId);
    if (first === undefined) return void (await isStored(store.commit([{ statements: [taken] }])));
    const rows = [first, ...others];
    await guard.change(permit, 'stage.created', {
      subjects: [stageChange(first), ...others.map(row => stageChange(row))],
      statements: [taken, store.stages.insert(...rows)],
      touches: rows.map(({ id }) => id),
    });
  }

  return {
    /** If another replica was first, or a stage was created in the meantime, it is tried again at the next step. */
    step: async (): Promise<void> => {
      let failure: unknown = null;
      for (const organizationId of await store.stages.inTags(perStep))
        await take(organizationId).catch(error => {
          if (!(error instanceof Failure && error.code === 'CONFLICT')) failure = error;
        });
      if (failure !== null) throw failure;
    },
  };
}

/** The vaults of each stage, in the order of their positions. */
function ordersIn(vaults: readonly Labelled[]): Map<string, string[]> {
  const placed = vaults.flatMap(({ row, labels }) => {
    const [, given, place] = shape.exec(labels.tags[tag] ?? '') ?? [];
    const name = nameSchema.safeParse(given);
    return name.success ? { name: name.data, place: Number(place), id: row.id } : [];
  });
  const orders = new Map<string, string[]>();
  for (const { name, id } of placed.toSorted((a, b) => a.place - b.place))
    orders.set(name, [...(orders.get(name) ?? []), id]);
  return orders;
}
