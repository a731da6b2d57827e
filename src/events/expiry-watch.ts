/**
 * Creates expiry events 30, 7 and 1 days in advance, and when a resource has expired. Each is created once per version
 * and date: the notice and the event are one unit, and the notice is unique, so only the first replica creates it.
 * Events that were missed while nothing ran are created at the next start; if several were missed, only the nearest.
 */
import type { NewId } from '../contract/id.ts';
import { eventOf } from '../domain/kernel/events.ts';
import type { Stamps } from '../domain/kernel/stamps.ts';
import { stateAt } from '../domain/resources/lifecycle.ts';
import { isStored } from '../store/engine/engine.ts';
import type { ExpiryWindow } from '../store/records/outbox.ts';
import type { AuditedResource, ResourceRow } from '../store/records/resources.ts';
import type { Store } from '../store/store.ts';

interface ExpiryWatchParts {
  readonly store: Store;
  readonly stamps: Stamps;
  readonly now: () => number;
  readonly newId: NewId;
  readonly onError: (error: unknown) => void;
  /** Called when an event was stored. */
  readonly onEvent: () => void;
}

const day = 24 * 3_600_000;
const daysAhead = [0, 1, 7, 30] as const;
const farthest = 30 * day;
const wholeEvery = 3_600_000;
const batch = 200;

export class ExpiryWatch {
  readonly #parts: ExpiryWatchParts;
  #lookedAt: number | null = null;
  #lookedWholeAt = 0;

  constructor(parts: ExpiryWatchParts) {
    this.#parts = parts;
  }

  /** Checks resources whose expiry came near since the last check. Checks all at the first call, and every hour. */
  async look(): Promise<void> {
    const time = this.#parts.now();
    const last = this.#lookedAt;
    if (last === null || time - this.#lookedWholeAt >= wholeEvery) {
      await this.#lookThrough(-1, time + farthest);
      this.#lookedWholeAt = time;
    } else {
      for (const days of daysAhead) await this.#lookThrough(last + days * day, time + days * day);
    }
    this.#lookedAt = time;
  }

  /** Checks resources that were just created or changed, and may already be near their expiry. */
  async lookAt(ids: readonly string[]): Promise<void> {
    const { store } = this.#parts;
    for (const row of await store.outbox.expiringAmong(ids)) await this.#consider(row);
  }

  async #lookThrough(after: number, to: number): Promise<void> {
    let from: ExpiryWindow['from'] = null;
    for (;;) {
      const rows = await this.#parts.store.outbox.expiringIn({ after, to, from }, batch);
      for (const row of rows) await this.#consider(row);
      const last = rows.at(-1);
      if (last === undefined || rows.length < batch) return;
      from = { expiration_date: last.expiration_date!, id: last.id };
    }
  }

  async #consider(audited: AuditedResource): Promise<void> {
    const { stamps, onError } = this.#parts;
    try {
      await this.#tell(stamps.resource.believe(audited));
    } catch (error) {
      onError(error);
    }
  }

  async #tell(row: ResourceRow): Promise<void> {
    const { store, stamps, now, newId, onEvent } = this.#parts;
    const time = now();
    const expirationDate = row.expiration_date!;
    const days = daysAhead.find(ahead => expirationDate <= time + ahead * day);
    if (days === undefined) return;
    const notice = { resource_id: row.id, version: row.version, expiration_date: expirationDate, days };
    if (await store.outbox.noticed(notice)) return;
    const kind = stateAt(row, time) === 'expired' ? 'resource.expired' : 'resource.near_expiry';
    const event = eventOf(kind, { ...row, expirationDate }, time, newId);
    const statements = [store.outbox.addNotice(notice), store.outbox.add(stamps.stampEvent(event))];
    if (await isStored(store.commit([{ statements }]))) onEvent();
  }
}
