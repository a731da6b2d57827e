/**
 * Processes one webhook's queue, for as long as this process holds its lease. A slow or dead receiver does not delay
 * the others. Deliveries for one resource are sent one after another; others are sent concurrently, with less
 * concurrency while the receiver fails. The queue is released when nothing is due.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { testKind } from '../contract/names.ts';
import type { WebhookTarget, WebhookTargets } from '../domain/webhooks/targets.ts';
import type { Statement } from '../store/engine/engine.ts';
import type { DueDelivery } from '../store/records/deliveries.ts';
import type { Store } from '../store/store.ts';
import { formatted } from './formats/formats.ts';
import type { GroupCommit } from './group-commit.ts';
import { disablingReason, judge, refused, type Verdict } from './schedule.ts';
import type { SenderClient } from './sender-client.ts';

export interface QueueParts {
  readonly store: Store;
  readonly targets: WebhookTargets;
  readonly sender: SenderClient;
  readonly outcomes: GroupCommit;
  readonly now: () => number;
  readonly random: () => number;
  /** Identifies this process in the leases. */
  readonly holder: string;
  /** The address of the dashboard, for links; null if it is unknown. */
  readonly dashboard: string | null;
  readonly onError: (error: unknown) => void;
}

const sideBySide = 32;
const sideBySideFailing = 4;
const failuresToSlowDown = 8;
const readAhead = 256;
/** Sent, but without a stored outcome: the most that a crash can repeat. */
const mostUnsettled = 256;
const longestRest = 1_000;

export class Queue {
  readonly #parts: QueueParts;
  readonly #webhookId: string;
  /** Read, but not settled yet. */
  readonly #held = new Set<string>();
  /** Settled since the last read began, which may still have seen them as pending. */
  readonly #settled = new Set<string>();
  /** Resources with a delivery that is ready or being sent, and the deliveries that follow for each. */
  readonly #lines = new Map<string, DueDelivery[]>();
  readonly #ready: DueDelivery[] = [];
  /** As of the last check. */
  #target: WebhookTarget | null = null;
  /** The number being sent, and the number being sent or sent without a stored outcome. */
  #underWay = 0;
  #unsettled = 0;
  /** Consecutive failures. */
  #failures = 0;
  #failing = false;
  #drained = false;
  #stopped = false;
  #paused = false;
  #wake: () => void = () => {};
  #whenIdle: () => void = () => {};

  constructor(webhookId: string, parts: QueueParts) {
    this.#webhookId = webhookId;
    this.#parts = parts;
  }

  /** Signals that something may have arrived, or that the webhook was changed. */
  wake(): void {
    this.#drained = false;
    this.#wake();
  }

  /** Starts nothing more. Deliveries in progress are settled in their own time. */
  stop(): void {
    this.#stopped = true;
    this.#wake();
  }

  /** Resolves once nothing is being sent, and all outcomes are stored. */
  whenIdle(): Promise<void> {
    if (this.#unsettled === 0) return Promise.resolve();
    return new Promise(resolve => {
      this.#whenIdle = resolve;
    });
  }

  /** Ends when the queue was released or its lease was lost. */
  async run(): Promise<void> {
    let over = false;
    while (!this.#stopped && !over) {
      over = await this.#turn().catch(async error => {
        this.#parts.onError(error);
        await sleep(longestRest, undefined, { ref: false });
        return false;
      });
    }
  }

  /** Returns whether the queue was released. */
  async #turn(): Promise<boolean> {
    const { store } = this.#parts;
    const queue = await store.webhooks.queue(this.#webhookId);
    if (queue === undefined || queue.leased_by !== this.#parts.holder) return true;
    this.#failing ||= queue.failing_since !== null;
    this.#drained = true;
    this.#target = await this.#parts.targets.target(this.#webhookId);
    if (!this.#target?.enabled) this.#letGo();
    const found = this.#paused ? 0 : await this.#readAhead();
    if (this.#held.size === 0 && found === 0) return this.#giveBack(queue.arrivals);
    if (found >= readAhead) this.#drained = false;
    await this.#rest();
    return false;
  }

  async #giveBack(arrivals: number): Promise<boolean> {
    const { store, holder } = this.#parts;
    const target = this.#target;
    // A disabled webhook's deliveries wait until it is enabled.
    const dueAt = target?.enabled ? await store.deliveries.nextAttemptAt(this.#webhookId) : null;
    return store.webhooks.release(this.#webhookId, holder, arrivals, dueAt);
  }

  /** Waits until there is capacity, something arrives, or a while has passed. */
  async #rest(): Promise<void> {
    if (this.#mayReadOn()) return;
    const timer = new AbortController();
    await Promise.race([
      new Promise<void>(resolve => {
        this.#wake = resolve;
      }),
      sleep(longestRest, undefined, { signal: timer.signal, ref: false }).catch(() => {}),
    ]);
    timer.abort();
  }

  #mayReadOn(): boolean {
    return this.#held.size === 0 || (!this.#drained && this.#held.size - this.#unsettled < sideBySide * 2);
  }

  async #readAhead(): Promise<number> {
    const { store, now } = this.#parts;
    const target = this.#target;
    if (target === null) return 0;
    this.#settled.clear();
    const rows = await store.deliveries.due(this.#webhookId, now(), this.#held.size + readAhead);
    const fresh = rows.filter(
      ({ id, event }) =>
        !this.#held.has(id) && !this.#settled.has(id) && (target.enabled || event === testKind),
    );
    for (const delivery of fresh) this.#line(delivery);
    return fresh.length;
  }

  #line(delivery: DueDelivery): void {
    this.#held.add(delivery.id);
    const line = this.#lines.get(delivery.resource_id);
    if (line !== undefined) {
      line.push(delivery);
      return;
    }
    this.#lines.set(delivery.resource_id, []);
    this.#ready.push(delivery);
    this.#start();
  }

  #start(): void {
    const target = this.#target;
    if (target === null || this.#paused || this.#stopped) {
      this.#letGo();
      return;
    }
    const most = this.#failures >= failuresToSlowDown ? sideBySideFailing : sideBySide;
    while (this.#underWay < most && this.#unsettled < mostUnsettled && this.#ready.length > 0) {
      this.#underWay++;
      this.#unsettled++;
      this.#deliver(this.#ready.shift()!, target).catch(this.#parts.onError);
    }
  }

  /** Deliveries that were read but not started stay in the database, for later or for another process. */
  #letGo(): void {
    for (const { id, resource_id } of this.#ready.splice(0)) {
      this.#held.delete(id);
      for (const next of this.#lines.get(resource_id) ?? []) this.#held.delete(next.id);
      this.#lines.delete(resource_id);
    }
  }

  /** The next delivery need not wait until the outcome is stored. */
  async #deliver(delivery: DueDelivery, target: WebhookTarget): Promise<void> {
    try {
      const verdict = await this.#attempt(delivery, target);
      this.#makeRoom(delivery);
      const consequences = verdict === null ? [] : this.#consequences(delivery, verdict);
      const outcome =
        verdict?.outcome ?? refused(delivery, 'the webhook does not ask for this event', this.#parts.now());
      await this.#settle([this.#parts.store.deliveries.settle(outcome), ...consequences]);
      if (verdict?.arrived === false && delivery.event !== testKind) await this.#judgeReceiver(verdict.gone);
    } finally {
      this.#finish(delivery);
    }
  }

  /** Returns null if the webhook must not receive this event. */
  async #attempt(delivery: DueDelivery, target: WebhookTarget): Promise<Verdict | null> {
    const { sender, targets, now, random, dashboard } = this.#parts;
    if (!target.takes(delivery)) return null;
    const startedAt = now();
    const id = delivery.event_id;
    const request = formatted({
      id,
      url: target.url,
      payload: delivery.payload,
      format: target.format,
      vaultName: target.format === 'standard' ? null : await targets.vaultName(delivery),
      dashboard,
    });
    const result = await sender.send({ id, at: startedAt, secrets: target.secrets, ...request });
    return judge(delivery, { result, startedAt, endedAt: now() }, random);
  }

  #makeRoom({ resource_id }: DueDelivery): void {
    this.#underWay--;
    const next = this.#lines.get(resource_id)!.shift();
    if (next === undefined) this.#lines.delete(resource_id);
    else this.#ready.push(next);
    this.#start();
  }

  #finish({ id }: DueDelivery): void {
    this.#unsettled--;
    this.#held.delete(id);
    this.#settled.add(id);
    this.#start();
    if (this.#unsettled === 0) this.#whenIdle();
    if (this.#mayReadOn()) this.#wake();
  }

  /**
   * An attempt whose outcome can't be stored is not repeated until it can, because the receiver already had it once.
   */
  async #settle(statements: readonly Statement[]): Promise<void> {
    for (;;) {
      try {
        return await this.#parts.outcomes.add(statements);
      } catch (error) {
        if (this.#stopped) throw error;
        this.#parts.onError(error);
        await sleep(longestRest, undefined, { ref: false });
      }
    }
  }

  /** What an attempt says about the receiver as a whole. */
  #consequences(delivery: DueDelivery, { arrived, pauseUntil }: Verdict): Statement[] {
    const { webhooks } = this.#parts.store;
    const failingBefore = this.#failing;
    this.#failures = arrived ? 0 : this.#failures + 1;
    if (arrived) {
      this.#failing = false;
      return failingBefore ? [webhooks.arrived(this.#webhookId)] : [];
    }
    if (delivery.event === testKind) return [];
    this.#failing = true;
    const failed = webhooks.failed(this.#webhookId, this.#parts.now());
    if (pauseUntil === null) return [failed];
    this.#paused = true;
    return [failed, webhooks.pause(this.#webhookId, pauseUntil)];
  }

  async #judgeReceiver(gone: boolean): Promise<void> {
    const { store, targets, now } = this.#parts;
    const queue = await store.webhooks.queue(this.#webhookId);
    const reason = disablingReason(gone, queue?.failing_since ?? null, now());
    if (reason === null) return;
    await targets.disable(this.#webhookId, reason);
    this.#paused = true;
  }
}
