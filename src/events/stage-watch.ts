/**
 * Creates an event for each secret that the last vault of a stage lacks while a vault before it has one: once for each
 * name, until it is no longer missing. The notice and the event are one unit, and the notice is unique, so only the first
 * replica creates it. Secrets that were just written are left for a few minutes, because they may be copied next.
 */
import type { NewId } from '../contract/id.ts';
import { eventOf } from '../domain/kernel/events.ts';
import type { Stamps } from '../domain/kernel/stamps.ts';
import { stageNameOf, vaultIdsOf } from '../domain/resources/stages.ts';
import { isStored } from '../store/engine/engine.ts';
import type { AuditedResource } from '../store/records/resources.ts';
import type { AuditedStage, StageRow, StageVaults } from '../store/records/stages.ts';
import type { Store } from '../store/store.ts';

interface StageWatchParts {
  readonly store: Store;
  readonly stamps: Stamps;
  readonly now: () => number;
  readonly newId: NewId;
  readonly onError: (error: unknown) => void;
  /** Called when an event was stored. */
  readonly onEvent: () => void;
}

const lookEvery = 60_000;
/** How long a secret may be missing before it is reported. */
export const unreportedFor = 5 * 60_000;
const batch = 100;

export class StageWatch {
  readonly #parts: StageWatchParts;
  #lookedAt: number | null = null;

  constructor(parts: StageWatchParts) {
    this.#parts = parts;
  }

  /** Checks all stages at the first call, and then every minute. */
  async look(): Promise<void> {
    const { store, now } = this.#parts;
    const time = now();
    if (this.#lookedAt !== null && time - this.#lookedAt < lookEvery) return;
    this.#lookedAt = time;
    for (let last: string | null = null; ; ) {
      const rows: AuditedStage[] = await store.stages.after(last, batch);
      for (const row of rows) await this.#consider(row);
      if (rows.length < batch) return;
      last = rows.at(-1)!.id;
    }
  }

  async #consider(audited: AuditedStage): Promise<void> {
    const { store, stamps, onError } = this.#parts;
    try {
      const row = stamps.stage.believe<StageRow>(audited);
      const ids = vaultIdsOf(row);
      const living = await store.stages.living(row.organization_id, ids);
      const [last, ...earlier] = ids.filter(id => living.has(id)).toReversed();
      if (last !== undefined && earlier.length > 0) await this.#compare(row, { earlier, last });
    } catch (error) {
      onError(error);
    }
  }

  async #compare(stage: StageRow, vaults: StageVaults): Promise<void> {
    const { store, now } = this.#parts;
    if (await store.stages.hasNotices(stage.id))
      await store.commit([{ statements: [store.stages.forgetMended(stage.id, vaults)] }]);
    for (;;) {
      const found = await store.stages.unreported(stage.id, vaults, now() - unreportedFor, batch);
      for (const row of found) await this.#tell(stage, vaults, row);
      if (found.length < batch / vaults.earlier.length) return;
    }
  }

  async #tell(stage: StageRow, { last }: StageVaults, audited: AuditedResource): Promise<void> {
    const { store, stamps, now, newId, onEvent } = this.#parts;
    const { name, vault_id } = stamps.resource.believe<AuditedResource>(audited);
    const missing = { secret: name, missing_in: last, present_in: vault_id };
    const subject = { ...stage, name: stageNameOf(stage), type: 'stage', vault_id: null, missing };
    const event = eventOf('stage.secret_missing', subject, now(), newId);
    const statements = [store.stages.addNotice(stage.id, name), store.outbox.add(stamps.stampEvent(event))];
    if (await isStored(store.commit([{ statements }]))) onEvent();
  }
}
