/**
 * Hears the commits of other replicas. It holds one connection that listens, and asks it for a sign of life
 * twice a second: a connection that went silent is found within that time, not when TCP gives up. After each
 * gap everything kept is stale, because nobody knows what was missed. Where a new connection gets no answer
 * either, the server is silent, and those who still wait for it are told.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { ChangeListener } from './engine.ts';

const heartbeat = 400;
const patience = 500;

export class ChangeEar {
  readonly #settings: pg.ClientConfig;
  readonly #channel: string;
  readonly #announce: ChangeListener;
  readonly #onSilence: () => void;
  readonly #stopped = new AbortController();
  #client: pg.Client | null = null;
  #loop: Promise<void> = Promise.resolve();

  constructor(settings: pg.ClientConfig, channel: string, announce: ChangeListener, onSilence: () => void) {
    this.#settings = { ...settings, query_timeout: patience };
    this.#channel = channel;
    this.#announce = announce;
    this.#onSilence = onSilence;
  }

  get hears(): boolean {
    return this.#client !== null;
  }

  async start(): Promise<void> {
    await this.#connect();
    this.#loop = this.#keepListening();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
    await this.#disconnect();
  }

  async #keepListening(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await sleep(heartbeat, undefined, { signal: this.#stopped.signal, ref: false }).catch(() => {});
      if (this.#stopped.signal.aborted) return;
      if (this.#client === null) await this.#connect();
      else await this.#client.query('SELECT 1').catch(() => this.#disconnect());
    }
  }

  async #connect(): Promise<void> {
    const client = new pg.Client(this.#settings);
    client.on('error', () => {
      if (this.#client === client) this.#client = null;
    });
    client.on('notification', ({ payload = 'all' }) => {
      this.#announce(payload === 'all' ? 'all' : payload.split(','));
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${this.#channel}`);
      this.#announce('all');
      this.#client = client;
    } catch (error) {
      // A refusal in words, such as too many connections, is an answer all the same.
      if (!(error instanceof pg.DatabaseError)) this.#onSilence();
      await hangUp(client);
    }
  }

  async #disconnect(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    if (client !== null) await hangUp(client);
  }
}

/** A server that fell silent does not answer a goodbye either. */
async function hangUp(client: pg.Client): Promise<void> {
  const ended = client.end().catch(() => {});
  await Promise.race([ended, sleep(patience, undefined, { ref: false })]);
  cut(client);
}

/** Ends the connection at once: whoever waits for it fails now, and not when TCP gives up. */
export function cut(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
