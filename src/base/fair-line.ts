/**
 * Queues that share capacity fairly: organizations take turns, and so do the keys within each organization. A long
 * backlog of one never delays the next turn of the others.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The organization and key that work is done for. */
export interface Lane {
  readonly organization: string;
  readonly key: string;
}

const present = new AsyncLocalStorage<Lane>();
const itself: Lane = { organization: '', key: '' };

/** Runs work on behalf of a lane, including everything that it calls. */
export function onBehalfOf<T>(lane: Lane, work: () => T): T {
  return present.run(lane, work);
}

/** The lane of the current work; the service's own if no request caused it. */
export function asker(): Lane {
  return present.getStore() ?? itself;
}

export class FairLine<T> {
  /** In the order of their turns. */
  readonly #organizations = new Map<string, Map<string, T[]>>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The number of an organization's items that are waiting. */
  lengthIn(organization: string): number {
    return lengthOf(this.#organizations.get(organization));
  }

  /** Adds an item at the end of its lane, or at its front. */
  push({ organization, key }: Lane, item: T, isFirst = false): void {
    const keys = this.#organizations.get(organization) ?? new Map<string, T[]>();
    this.#organizations.set(organization, keys);
    const items = keys.get(key) ?? [];
    keys.set(key, items);
    if (isFirst) items.unshift(item);
    else items.push(item);
    this.#length++;
  }

  shift(): T | undefined {
    const [organization, keys] = this.#organizations.entries().next().value ?? [];
    if (keys === undefined) return undefined;
    const [key, items] = keys.entries().next().value!;
    const item = items.shift();
    this.#length--;
    moveBack(keys, key, items.length > 0);
    moveBack(this.#organizations, organization!, keys.size > 0);
    return item;
  }

  /**
   * Removes and returns the newest item of the organization with the most items waiting, from the key with the most
   * within it. Returns undefined unless that organization, or that key if the organization is this lane's own, has at
   * least two more waiting than this lane.
   */
  displace({ organization, key }: Lane): T | undefined {
    const [largest, keys] = most(this.#organizations, lengthOf) ?? [];
    if (keys === undefined) return undefined;
    const own = this.#organizations.get(organization);
    const isOwn = largest === organization;
    if (!isOwn && lengthOf(keys) <= lengthOf(own) + 1) return undefined;
    const [longest, items] = most(keys, ({ length }) => length)!;
    if (isOwn && items.length <= (own!.get(key)?.length ?? 0) + 1) return undefined;
    const item = items.pop();
    this.#length--;
    if (items.length === 0) keys.delete(longest);
    if (keys.size === 0) this.#organizations.delete(largest!);
    return item;
  }

  /** Removes and yields all items, in the order of their turns. */
  *drain(): Generator<T> {
    for (let item = this.shift(); item !== undefined; item = this.shift()) yield item;
  }
}

/**
 * Hands out slices of the event loop, to one lane at a time. Between two slices the event loop handles other events.
 */
export class FairTurns {
  readonly #line = new FairLine<() => void>();
  #isRunning = false;

  take(lane: Lane): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#line.push(lane, resolve);
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    await nextTurn();
    for (const begin of this.#line.drain()) {
      begin();
      await nextTurn();
    }
    this.#isRunning = false;
  }
}

function moveBack<V>(map: Map<string, V>, name: string, isLeft: boolean): void {
  const value = map.get(name)!;
  map.delete(name);
  if (isLeft) map.set(name, value);
}

function lengthOf(keys: ReadonlyMap<string, readonly unknown[]> | undefined): number {
  let sum = 0;
  for (const { length } of keys?.values() ?? []) sum += length;
  return sum;
}

function most<V>(map: ReadonlyMap<string, V>, sizeOf: (value: V) => number): [string, V] | undefined {
  let found: [string, V] | undefined;
  for (const entry of map) if (found === undefined || sizeOf(entry[1]) > sizeOf(found[1])) found = entry;
  return found;
}
