/**
 * Drains the outbox: fans events out, leases the queues with due deliveries, and processes each independently. Several
 * replicas do this at the same time; a lease assigns each queue to one of them. A process that dies loses its leases
 * after a few seconds, and its unfinished deliveries are sent again under the same id.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Chores } from '../base/chores.ts';
import type { ChangeListener } from '../store/engine/engine.ts';
import { type FannedOut, type FanOutParts, fanOut } from './fan-out.ts';
import { GroupCommit } from './group-commit.ts';
import { Queue, type QueueParts } from './queue.ts';

interface DispatcherParts
  extends Omit<QueueParts, 'outcomes' | 'holder'>,
    Pick<FanOutParts, 'newId' | 'mails'> {
  /** Called with the events that were fanned out here. */
  readonly onEvents: (events: FannedOut['events']) => void;
}

const lease = 15_000;
const renewal = 5_000;
const mostQueues = 1_000;
/** Between two rounds: lets a group fill under load, and leaves the event loop to requests for secrets. */
const pause = 50;
const grace = 3_000;

export class Dispatcher {
  readonly #parts: QueueParts & DispatcherParts;
  readonly #queues = new Map<string, Queue>();
  readonly #chores: Chores;
  #renewed = performance.now();
  #poked = false;
  #stopped = false;
  #running: Promise<void> | null = null;

  constructor(parts: DispatcherParts) {
    const outcomes = new GroupCommit(parts.store);
    this.#parts = { ...parts, outcomes, holder: parts.newId() };
    this.#chores = new Chores(parts.onError).every(renewal, () => this.#renew());
  }

  /** Signals that there may be something to do. */
  readonly poke = (): void => {
    this.#poked = true;
    if (!this.#stopped) this.#running ??= this.#run();
  };

  /** Called after changes. A webhook that is being processed is checked again immediately. */
  readonly changed: ChangeListener = touched => {
    if (touched !== 'all') for (const id of touched) this.#queues.get(id)?.wake();
    this.poke();
  };

  /** Deliveries in progress get a moment to finish. Those not started, and all leases, are released. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#chores.stop();
    await this.#running;
    const queues = [...this.#queues.values()];
    for (const queue of queues) queue.stop();
    const settled = Promise.all(queues.map(queue => queue.whenIdle()));
    await Promise.race([settled, sleep(grace, undefined, { ref: false })]);
    await this.#parts.outcomes.drain();
    await this.#parts.store.webhooks.abandon(this.#parts.holder).catch(this.#parts.onError);
  }

  async #run(): Promise<void> {
    while (this.#poked && !this.#stopped) {
      this.#poked = false;
      await this.#round().catch(this.#parts.onError);
      await sleep(pause);
    }
    this.#running = null;
  }

  async #round(): Promise<void> {
    for (let more = true; more && !this.#stopped; ) {
      const fanned = await fanOut(this.#parts);
      for (const id of fanned.webhookIds) this.#queues.get(id)?.wake();
      if (fanned.events.length > 0) this.#parts.onEvents(fanned.events);
      more = fanned.more;
    }
    if (!this.#stopped) await this.#claim();
  }

  async #claim(): Promise<void> {
    const { store, holder, now } = this.#parts;
    const room = mostQueues - this.#queues.size;
    const ids = room > 0 ? await store.webhooks.claim(holder, now(), lease, room) : [];
    for (const id of ids) this.#begin(id);
  }

  #begin(id: string): void {
    this.#queues.get(id)?.stop();
    const queue = new Queue(id, this.#parts);
    this.#queues.set(id, queue);
    queue.run().finally(() => {
      if (this.#queues.get(id) === queue) this.#queues.delete(id);
    });
  }

  async #renew(): Promise<void> {
    const { store, holder, onError } = this.#parts;
    if (this.#queues.size === 0) return;
    try {
      const asked = performance.now();
      const queues = [...this.#queues];
      const ids = queues.map(([id]) => id);
      const held = await store.webhooks.renew(holder, ids, lease);
      this.#renewed = asked;
      for (const [id, queue] of queues) if (!held.has(id)) queue.stop();
    } catch (error) {
      onError(error);
      if (performance.now() - this.#renewed < lease - renewal) return;
      for (const queue of this.#queues.values()) queue.stop();
    }
  }
}
