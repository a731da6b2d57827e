/**
 * Hears the commits of other replicas. It holds one connection that listens, and hears only while it proves that it
 * does: a sign that this process sends itself, by the way of its own commits, must come back within moments. A
 * connection that went silent, and a pooler that gives our LISTEN to somebody else's connection, are both found so.
 * After each gap everything kept is stale, because nobody knows what was missed. Where a new connection gets no answer
 * either, the server is silent, and those who still wait for it are told.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Chores } from '../chores.ts';
import type { ChangeListener } from './engine.ts';

/** Together less than the second within which a revocation takes effect. */
const heartbeat = 400;
const patience = 500;
/** How long a server may take to answer before it counts as silent: a busy one is slow, and cutting it off makes it slower. */
const longestSilence = 2_000;
const signMark = 'sign ';

export interface PostgresListenerParts {
  readonly settings: pg.ClientConfig;
  readonly channel: string;
  readonly announce: ChangeListener;
  /** Sends a notification by the way that commits go. */
  readonly notify: (payload: string) => Promise<unknown>;
  readonly onSilence: () => void;
}

export class PostgresListener {
  readonly #parts: PostgresListenerParts;
  /** What fails in a way that nobody thought of is not heard either. */
  readonly #chores = new Chores(() => this.#forget());
  #client: pg.Client | null = null;
  #isListening = false;
  /** The sign that is under way, and who waits for it. */
  #sign = '';
  #onSign: () => void = () => {};
  #isNotifying = false;

  constructor(parts: PostgresListenerParts) {
    this.#parts = { ...parts, settings: { ...parts.settings, query_timeout: longestSilence } };
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  async start(): Promise<void> {
    await this.#beat();
    this.#chores.every(heartbeat, () => this.#beat());
  }

  async stop(): Promise<void> {
    await this.#chores.stop();
    await this.#disconnect();
  }

  async #beat(): Promise<void> {
    if (this.#client === null) await this.#connect();
    if (this.#client === null) return;
    if (!(await this.#hearsItself())) await this.#disconnect();
    else if (!this.#isListening && this.#client !== null) {
      this.#parts.announce('all');
      this.#isListening = true;
    }
  }

  async #connect(): Promise<void> {
    const client = new pg.Client(this.#parts.settings);
    client.on('error', () => {
      if (this.#client === client) this.#forget();
    });
    client.on('notification', ({ payload = 'all' }) => this.#onNotification(payload));
    try {
      await client.connect();
      await client.query(`LISTEN ${this.#parts.channel}`);
      this.#client = client;
    } catch (error) {
      // A refusal in words, such as too many connections, is an answer all the same.
      if (!(error instanceof pg.DatabaseError)) this.#parts.onSilence();
      await hangUp(client);
    }
  }

  #onNotification(payload: string): void {
    if (payload === this.#sign) this.#onSign();
    if (!payload.startsWith(signMark)) this.#parts.announce(payload === 'all' ? 'all' : payload.split(','));
  }

  /** What comes back proves that all which was committed before it was sent has been heard. */
  async #hearsItself(): Promise<boolean> {
    const heard = new Promise<boolean>(resolve => {
      this.#onSign = () => resolve(true);
    });
    if (!this.#isNotifying) void this.#notify();
    return Promise.race([heard, sleep(patience, false, { ref: false })]);
  }

  /** One at a time: where the way is blocked, they must not pile up. */
  async #notify(): Promise<void> {
    this.#isNotifying = true;
    this.#sign = signMark + randomUUID();
    await this.#parts.notify(this.#sign).catch(() => {});
    this.#isNotifying = false;
  }

  #forget(): void {
    this.#client = null;
    this.#isListening = false;
  }

  async #disconnect(): Promise<void> {
    const client = this.#client;
    this.#forget();
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
