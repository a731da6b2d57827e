/** What the tests of the client share: a vault with an access key, and a clock that only the test moves. */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import {
  type Clock,
  type Fetch,
  type OpenOptions,
  open,
  type Schemas,
  type StrongroomError,
} from '../src/client/client.ts';
import { unique } from './document.ts';
import type { Service } from './harness.ts';

export interface VaultWorld {
  readonly vaultId: string;
  readonly key: string;
  readonly keyId: string;
  /** Creates a secret, or gives it another value. */
  put(name: string, value: string): Promise<void>;
  remove(name: string): Promise<void>;
  revoke(): Promise<void>;
}

type Calls = Pick<Service, 'call'>;

export async function vaultOf(service: Calls, values: Readonly<Record<string, string>>): Promise<VaultWorld> {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await service.call(method, path, body);
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const vaultId = (await call('POST', '/v1/vaults', { name: unique('client') })).id;
  const accessKey = await call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'program' });
  const ids = new Map<string, string>();
  const put = async (name: string, value: string) => {
    const id = ids.get(name);
    if (id !== undefined) await call('PUT', `/v1/secrets/${id}`, { value });
    else ids.set(name, (await call('POST', '/v1/secrets', { vault_id: vaultId, name, value })).id);
  };
  for (const [name, value] of Object.entries(values)) await put(name, value);
  return {
    vaultId,
    key: accessKey.token,
    keyId: accessKey.id,
    put,
    remove: async name => {
      await call('DELETE', `/v1/secrets/${ids.get(name)}`);
      ids.delete(name);
    },
    revoke: () => call('DELETE', `/v1/access-keys/${accessKey.id}`),
  };
}

export const declared = { DATABASE_URL: z.url(), PORT: z.coerce.number().int() };
export const values = { DATABASE_URL: 'postgres://app:pa55word@db/app', PORT: '5432' };

/** The real fetch, with a switch that cuts it off, and a count. */
function line() {
  const state = {
    isDown: false,
    requests: 0,
    statuses: [] as number[],
    down: async (): Promise<Response> => {
      throw new TypeError('fetch failed');
    },
  };
  const through: Fetch = async (url, init) => {
    state.requests += 1;
    const answer = state.isDown ? await state.down() : await fetch(url, init);
    state.statuses.push(answer.status);
    return answer;
  };
  return Object.assign(state, { fetch: through });
}

export const codeIs = (code: string) => (error: unknown) => (error as StrongroomError).code === code;

/** A vault with the two values, and all that a test wants to hold of a store's surroundings. */
export async function storeWorld<S extends Schemas>(
  service: Service,
  secrets: S,
  more: Partial<OpenOptions<S>> = {},
) {
  const held = await vaultOf(service, values);
  const clock = new ManualClock();
  const wire = line();
  const errors: StrongroomError[] = [];
  const options: OpenOptions<S> = {
    url: service.url,
    key: held.key,
    secrets,
    clock,
    fetch: wire.fetch,
    random: () => 0.5,
    onError: error => errors.push(error),
    ...more,
  };
  return { held, clock, wire, errors, options, open: () => open(options) };
}

interface Timer {
  readonly at: number;
  readonly run: () => unknown;
}

/** Stands still, and fires timers only while the test lets time pass; it waits for what a timer began. */
export class ManualClock implements Clock {
  #time = Date.parse('2026-11-16T00:00:00Z');
  #timers = new Set<Timer>();

  now(): number {
    return this.#time;
  }

  after(milliseconds: number, run: () => unknown): () => void {
    const timer = { at: this.#time + milliseconds, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How long until the next timer fires. */
  get ahead(): number {
    return Math.min(...[...this.#timers].map(({ at }) => at)) - this.#time;
  }

  get pending(): number {
    return this.#timers.size;
  }

  async pass(seconds: number): Promise<void> {
    const end = this.#time + seconds * 1000;
    for (;;) {
      const [next] = [...this.#timers].sort((one, other) => one.at - other.at);
      if (next === undefined || next.at > end) break;
      this.#timers.delete(next);
      this.#time = next.at;
      await next.run();
    }
    this.#time = end;
  }

  /** Lets as much time pass as something needs that waits for timers. Returns the seconds. */
  async until(settling: Promise<unknown>, timeoutSeconds = 10): Promise<number> {
    const from = this.#time;
    let isOpen = true;
    const settled = () => {
      isOpen = false;
    };
    settling.then(settled, settled);
    while (isOpen) {
      await setImmediate();
      // The limit of a request under way is no reason to go on: its answer is coming.
      if (isOpen && this.pending > 0 && this.ahead < timeoutSeconds * 1000)
        await this.pass(this.ahead / 1000);
    }
    return (this.#time - from) / 1000;
  }
}
