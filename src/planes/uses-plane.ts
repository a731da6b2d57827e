/**
 * The plane of uses: brokered calls and the use of keys, on an event loop of its own, with chains of its own in the log.
 * Neither what these cost nor what other services do is felt by those who read a vault.
 */
import type { MessagePort } from 'node:worker_threads';
import { egressInto } from '../access/egress.ts';
import { Chores } from '../chores.ts';
import { Failure } from '../contract/errors.ts';
import { type UsingDomain, usingDomainWith } from '../domain/reading.ts';
import type { UseResult } from '../domain/uses/using.ts';
import { type Broker, brokerWith } from '../egress/brokered-call.ts';
import { systemResolve } from '../egress/connections.ts';
import { failureOf } from '../http/errors.ts';
import { describe } from '../report.ts';
import type { Store } from '../store/store.ts';
import { batched } from './batches.ts';
import { arrived, crossing } from './crossing.ts';
import { usesGauges } from './gauges.ts';
import { openHanded } from './handed.ts';
import type { HandedData, LedgerCall } from './messages.ts';
import type { FromUses, Order, Outcome, ToUses } from './use-messages.ts';

const noteUsesEvery = 10_000;
/** How long calls that are cut off may take to say so in the log. */
const longestStop = 2_000;

interface Plane {
  readonly domain: UsingDomain;
  readonly broker: Broker;
  readonly store: Store;
  readonly chores: Chores;
  readonly gauges: { stop(): void } | null;
}

export class UsesPlane {
  readonly #port: MessagePort;
  readonly #told: ((touched: readonly string[]) => void)[] = [];
  readonly #made = new Set<Promise<void>>();
  readonly #report = batched<Outcome>(outcomes => this.#post({ kind: 'outcomes', outcomes }));
  #plane: Promise<Plane> | null = null;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (message: ToUses) => this.#take(message));
  }

  #take(message: ToUses): void {
    switch (message.kind) {
      case 'begin':
        this.#plane = this.#begin(message.handed);
        this.#plane.catch(error => this.#post({ kind: 'not-begun', line: describe(error) }));
        return;
      case 'touched':
        for (const listener of this.#told) listener(message.ids);
        return;
      case 'failed':
        void this.#begun().then(plane => plane?.domain.attempts.count(message.address));
        return;
      case 'orders':
        for (const order of message.orders) this.#make(order);
        return;
      case 'call':
        void this.#settle(message.call, message.what);
        return;
      case 'stop':
        void this.#stop();
    }
  }

  #post(message: FromUses): void {
    this.#port.postMessage(message);
  }

  async #begin(handed: HandedData): Promise<Plane> {
    const opened = await openHanded(handed, {
      tell: ids => this.#post({ kind: 'touched', ids }),
      onTold: listener => void this.#told.push(listener),
    });
    const egress = egressInto(handed.config['allow-private-webhooks']);
    const broker = brokerWith({ egress, resolve: systemResolve() });
    const tellFailed = (address: string) => this.#post({ kind: 'failed', address });
    const domain = usingDomainWith({ ...opened, broker, other: { tellFailed } });
    const onError = (error: unknown) => this.#post({ kind: 'report', line: describe(error) });
    const chores = new Chores(onError).every(noteUsesEvery, () => domain.authenticate.noteUses());
    const gauges =
      handed.config['metrics-port'] === null ? null : usesGauges(opened.meter, domain.ledger, chores);
    return { domain, broker, store: opened.store, chores, gauges };
  }

  #make(order: Order): void {
    const made = this.#carriedOut(order)
      .then(
        result => this.#report(outcomeOf(order, result)),
        error => this.#post({ kind: 'lost', number: order.number, failure: crossing(failureOf(error)) }),
      )
      .finally(() => this.#made.delete(made));
    this.#made.add(made);
  }

  async #carriedOut({ of, facts, asked }: Order): Promise<UseResult<object>> {
    const plane = await this.#begun();
    if (plane === null) throw new Failure('UNAVAILABLE', { retryAfter: 1 });
    const { vaultUses, keyUses } = plane.domain;
    if ('call' in asked) return vaultUses.use({ ...facts, call: asked.call });
    if ('key' in asked) return keyUses.use({ ...facts, asked: asked.key });
    const unread = arrived(asked.unread);
    return of === 'key'
      ? keyUses.use({ ...facts, asked: unread })
      : vaultUses.use({ ...facts, call: unread });
  }

  async #settle(call: number, what: LedgerCall): Promise<void> {
    try {
      await (await this.#plane!).domain.ledger[what]();
      this.#post({ kind: 'settled', call, error: null });
    } catch (error) {
      this.#post({ kind: 'settled', call, error: (error as Error).message });
    }
  }

  async #stop(): Promise<void> {
    const plane = await this.#begun();
    if (plane !== null) await finish(plane, this.#made);
    this.#port.close();
  }

  /** Null where it could not begin. */
  #begun(): Promise<Plane | null> {
    return this.#plane!.catch(() => null);
  }
}

async function finish(plane: Plane, made: ReadonlySet<Promise<void>>): Promise<void> {
  const { domain, broker, store, chores, gauges } = plane;
  gauges?.stop();
  await chores.stop();
  await broker.close();
  await Promise.race([Promise.allSettled(made), new Promise(over => setTimeout(over, longestStop).unref())]);
  await domain.authenticate.noteUses().catch(() => {});
  await domain.ledger.drain();
  await domain.ledger.writeHourCounts().catch(() => {});
  await domain.closeThreads();
  await store.close();
}

function outcomeOf({ number }: Order, result: UseResult<object>): Outcome {
  const { status, receipt, requestId } = result;
  const [answer, failure] = 'failure' in result ? [null, crossing(result.failure)] : [result.answer, null];
  return { number, status, receipt, requestId, answer, failure };
}
