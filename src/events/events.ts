/**
 * Everything that happens after a change by itself: its event is delivered, expiries are told, and what is
 * older than 30 days is cleaned away in small steps. It beats once a second, and at once after a commit.
 */
import type { NewId } from '../contract/id.ts';
import type { Store } from '../store/store.ts';
import type { Domain } from '../vault/domain.ts';
import { courierInto } from './courier.ts';
import { Dispatcher } from './dispatcher.ts';
import { ExpiryWatch } from './expiry-watch.ts';

export interface EventsParts {
  readonly store: Store;
  readonly domain: Pick<Domain, 'stamps' | 'webhookTargets'>;
  readonly now: () => number;
  readonly newId: NewId;
  readonly random?: () => number;
  /** The inner ranges that the operator opened. */
  readonly privateWebhooks: readonly string[];
  readonly onError: (error: unknown) => void;
}

const beat = 1_000;
const cleanEvery = 3_600_000;
const kept = 30 * 24 * 3_600_000;
const cleaningStep = 500;

export interface Events {
  stop(): Promise<void>;
}

export async function startEvents(parts: EventsParts): Promise<Events> {
  const { store, domain, now, newId, onError, random = Math.random } = parts;
  const courier = courierInto(parts.privateWebhooks);
  const background = new Background(onError);
  const poke = () => dispatcher.poke();
  const watch = new ExpiryWatch({ store, stamps: domain.stamps, now, newId, onError, onEvent: poke });
  const dispatcher = new Dispatcher({
    store,
    targets: domain.webhookTargets(onError),
    courier,
    now,
    newId,
    random,
    onError,
    onEvents: events => {
      const ids = [...new Set(events.filter(isChange).map(event => event.resource_id))];
      if (ids.length > 0) background.run(() => watch.lookAt(ids));
    },
  });
  // Whoever serves an embedded file serves it alone: a lease that is there was left by a process that died.
  if (store.engine === 'sqlite') await store.webhooks.abandon(null);
  store.onChange(dispatcher.changed);
  let cleanedAt = 0;
  const beating = setInterval(() => {
    poke();
    background.runAlone('watch', () => watch.look());
    if (now() - cleanedAt < cleanEvery) return;
    cleanedAt = now();
    background.runAlone('clean', () => clean(store, now() - kept));
  }, beat).unref();
  poke();
  return {
    stop: async () => {
      clearInterval(beating);
      await background.stop();
      await dispatcher.stop();
      await courier.close();
    },
  };
}

function isChange({ type }: { readonly type: string }): boolean {
  return type === 'resource.created' || type === 'resource.updated';
}

async function clean(store: Store, before: number): Promise<void> {
  while ((await store.deliveries.forget(before, cleaningStep)) === cleaningStep);
  while ((await store.outbox.forget(before, cleaningStep)) === cleaningStep);
}

/** Work that nobody waits for: its failures are reported, and a stop waits for its end. */
class Background {
  readonly #onError: (error: unknown) => void;
  readonly #running = new Set<Promise<void>>();
  readonly #alone = new Set<string>();
  #stopped = false;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  run(work: () => Promise<void>): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    const running = work()
      .catch(this.#onError)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  /** Unless the one before is still at it. */
  runAlone(name: string, work: () => Promise<void>): void {
    if (this.#alone.has(name)) return;
    this.#alone.add(name);
    this.run(work).finally(() => this.#alone.delete(name));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }
}
