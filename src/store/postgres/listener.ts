/**
 * Hears the commits of other replicas. It holds one connection that listens, and hears only while it proves that it
 * does: a sign that this process sends itself, by the way of its own commits, must come back within moments. It hears
 * until so long after the newest sign that came back was sent, however late a timer is. A connection that went silent, a
 * pooler that gives our LISTEN to somebody else's connection, a standby and another cluster are all found so.
 * After each gap everything kept is stale, because nobody knows what was missed. Where a new connection gets no answer
 * either, the server is silent, and those who still wait for it are told.
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
/** How long a server may take to answer before it counts as silent: a busy one is slow, and cutting it off makes it slower. */
const longestSilence = 2_000;
/** How old the newest proof may be. */
const proofHolds = 950;
const signMark = 'sign ';

export interface PostgresListenerParts {
  readonly servers: PostgresServers;
  readonly channel: string;
  readonly announce: ChangeListener;
  /** Whether this process of the server is one of our connections. */
  readonly isOurs: (processId: number) => boolean;
  /** Sends a notification by the way that commits go. */
  readonly notify: (payload: string) => Promise<unknown>;
  /** Something is wrong: a new connection got no answer (true), or a sign did not come back (false). */
  readonly suspect: (isSilent: boolean) => void;
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
  #sentAt = 0;
  /** When the newest sign that came back was sent: all that was committed before has been heard. */
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
      // A refusal in words, such as too many connections, is an answer all the same.
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

/** A server that fell silent does not answer a goodbye either. */
async function hangUp(client: pg.Client): Promise<void> {
  const ended = client.end().catch(() => {});
  await Promise.race([ended, sleep(patience, undefined, { ref: false })]);
  cut(client);
}
