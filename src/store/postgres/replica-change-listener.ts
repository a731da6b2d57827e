/**
 * Receives the commits of other replicas on one listening connection, and verifies continuously that it works: a sign
 * that this process sends itself, in the same way as its commits, must come back promptly. Changes count as received
 * for a limited time after the newest returned sign was sent, even if timers are late. This detects dead connections,
 * poolers that run our LISTEN on another connection, standbys and other clusters. After each gap everything cached is
 * stale, because changes may have been missed. If a new connection gets no answer either, the server counts as
 * unresponsive, and pending queries fail.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Chores } from '../../base/chores.ts';
import type { ChangeListener } from '../engine/engine.ts';
import { cut } from './client.ts';
import type { PostgresServers } from './servers.ts';

/** Together less than the second within which a revocation takes effect. */
const heartbeat = 400;
const patience = 500;
/**
 * How long a server may take to answer before it counts as unresponsive. A busy server is slow, and cutting it off
 * makes it slower.
 */
const longestSilence = 2_000;
/** The maximum age of the newest proof. */
const proofHolds = 950;
const signMark = 'sign ';

interface PostgresListenerParts {
  readonly servers: PostgresServers;
  readonly channel: string;
  readonly announce: ChangeListener;
  /** Whether this server process belongs to one of our connections. */
  readonly isOurs: (processId: number) => boolean;
  /** Sends a notification in the same way as commits. */
  readonly notify: (payload: string) => Promise<unknown>;
  /** Called if a new connection got no answer (true), or a sign did not come back (false). */
  readonly suspect: (isSilent: boolean) => void;
}

export class PostgresListener {
  readonly #parts: PostgresListenerParts;
  /** After an unexpected failure, changes count as not received. */
  readonly #chores = new Chores(() => this.#forget());
  #client: pg.Client | null = null;
  #isListening = false;
  /** The sign being sent, and the callback for its return. */
  #sign = '';
  #onSign: () => void = () => {};
  #isNotifying = false;
  #sentAt = 0;
  /** When the newest returned sign was sent. All earlier commits have been received. */
  #provenAt = Number.NEGATIVE_INFINITY;

  constructor(parts: PostgresListenerParts) {
    this.#parts = parts;
  }

  get hears(): boolean {
    return this.#isListening && performance.now() - this.#provenAt < proofHolds;
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
    if (!(await this.#hearsItself())) {
      await this.#disconnect();
      this.#parts.suspect(false);
    } else if (!this.#isListening && this.#client !== null) {
      this.#parts.announce('all');
      this.#isListening = true;
    }
  }

  async #connect(): Promise<void> {
    let client: pg.Client | null = null;
    try {
      client = await this.#parts.servers.connect({ queryTimeout: longestSilence });
      if (this.#parts.servers.isPooled) throw new pg.DatabaseError('a pooler is in between', 0, 'error');
      this.#attend(client);
      await client.query(`LISTEN ${this.#parts.channel}`);
      this.#client = client;
    } catch (error) {
      // An error from the server, such as too many connections, is an answer too.
      if (!(error instanceof pg.DatabaseError)) this.#parts.suspect(true);
      if (client !== null) await hangUp(client);
    }
  }

  #attend(client: pg.Client): void {
    client.on('error', () => {
      if (this.#client === client) this.#forget();
    });
    client.on('notification', ({ payload = 'all', processId }) => this.#onNotification(payload, processId));
  }

  #onNotification(payload: string, processId: number): void {
    if (payload === this.#sign) {
      this.#provenAt = this.#sentAt;
      this.#onSign();
    }
    if (payload.startsWith(signMark)) return;
    this.#parts.announce(payload === 'all' ? 'all' : payload.split(','), this.#parts.isOurs(processId));
  }

  /** A returned sign proves that everything committed before it was sent has been received. */
  async #hearsItself(): Promise<boolean> {
    const heard = new Promise<boolean>(resolve => {
      this.#onSign = () => resolve(true);
    });
    if (!this.#isNotifying) void this.#notify();
    return Promise.race([heard, sleep(patience, false, { ref: false })]);
  }

  /** One at a time, so that they don't pile up if the connection is blocked. */
  async #notify(): Promise<void> {
    this.#isNotifying = true;
    this.#sign = signMark + randomUUID();
    this.#sentAt = performance.now();
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

/** An unresponsive server does not answer the end of the connection either. */
async function hangUp(client: pg.Client): Promise<void> {
  const ended = client.end().catch(() => {});
  await Promise.race([ended, sleep(patience, undefined, { ref: false })]);
  cut(client);
}
