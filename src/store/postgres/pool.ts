/**
 * A store's connections, all of them to the one server that accepts writes. If that server reports that it is shutting
 * down, that it has become a standby, or that a connection is broken, all connections are closed, and the next request
 * reconnects. All failures are UNAVAILABLE, except those caused by our own statements.
 */
import pg from 'pg';
import { Failure } from '../../contract/errors.ts';
import { StoreError } from '../engine/store-error.ts';
import { cut, ServerClient, type SessionSettings } from './client.ts';
import { pinning } from './search-path.ts';
import { noJit, type PostgresServers } from './servers.ts';

const mostConnections = 10;
const longestGoodbye = 2_000;
/** In a database set to read-only, every write fails this way. Reads are not cut off each time. */
const betweenCuts = 1_000;
const longestStatement = 15_000;
const settings: SessionSettings = {
  queryTimeout: longestStatement + 1_000,
  limits: {
    ...noJit,
    statement_timeout: String(longestStatement),
    idle_in_transaction_session_timeout: String(longestStatement),
  },
};
/** The same for one transaction, if the session is shared through a pooler. */
const limitsOfTransaction = `SET LOCAL statement_timeout = ${longestStatement};
  SET LOCAL idle_in_transaction_session_timeout = ${longestStatement}`;
/** The server is shutting down or does not accept writes, or the connection is broken. */
const startsOver = /^(57P0[123]|25006|08...)$/;

export class PostgresPool extends pg.Pool {
  readonly #servers: PostgresServers;
  readonly #clients = new Set<ServerClient>();
  #cutAt = Number.NEGATIVE_INFINITY;
  #isLooking = false;

  constructor(servers: PostgresServers) {
    class Client extends ServerClient {
      constructor() {
        super(servers, settings);
      }
    }
    super({ Client, max: mostConnections, connectionTimeoutMillis: servers.connectTimeout });
    this.#servers = servers;
    this.on('error', () => {}); // The connection is replaced, and its query fails.
    this.on('connect', client => this.#add(client as unknown as ServerClient));
    this.on('remove', client => this.#clients.delete(client as unknown as ServerClient));
  }

  /** Begins a transaction that is aborted if it takes too long. */
  get begin(): string {
    const { isPooled, path } = this.#servers;
    return isPooled ? `BEGIN; ${pinning(path!)}; ${limitsOfTransaction}` : 'BEGIN';
  }

  /** Whether prepared statements remain available for later queries. */
  get keepsNames(): boolean {
    return !this.#servers.isPooled;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    const connected = this.#servers.reaching(() => super.connect());
    if (callback === undefined) return connected;
    connected.then(
      client => callback(undefined, client, () => client.release()),
      error => callback(error, undefined, () => {}),
    );
    return undefined;
  }

  /** An error in a statement is our mistake; anything else means that the server is not available. */
  readonly fail = (cause: unknown): never => {
    if (startsOver.test(codeOf(cause)) && performance.now() - this.#cutAt >= betweenCuts) {
      this.#cutAt = performance.now();
      this.cutAll();
    }
    return unavailable(cause);
  };

  /** Whether one of the connections belongs to this server process. */
  has(processId: number): boolean {
    return [...this.#clients].some(client => client.processId === processId);
  }

  /** Makes queries on an unresponsive server fail immediately. */
  cutAll(): void {
    for (const client of this.#clients) cut(client);
  }

  /**
   * The same, but only if a new connection gets no answer either. A busy server is slow, and cutting it off makes it
   * slower.
   */
  async cutIfSilent(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const client = await this.#servers.connect({ queryTimeout: longestGoodbye });
      await client.end();
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) this.cutAll();
    } finally {
      this.#isLooking = false;
    }
  }

  async close(end: () => Promise<void>): Promise<void> {
    const silent = setTimeout(() => this.cutAll(), longestGoodbye);
    await end();
    clearTimeout(silent);
  }

  /** Never connected to two servers at the same time, because their data may differ. */
  #add(client: ServerClient): void {
    for (const other of this.#clients) if (other.server !== client.server) cut(other);
    this.#clients.add(client);
  }
}

type Connected = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: unknown) => void,
) => void;

export function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? '');
}

/** For errors on a connection outside the pool. */
export function unavailable(cause: unknown): never {
  const ours = cause instanceof StoreError || /^(22|42)/.test(codeOf(cause));
  throw ours ? cause : new Failure('UNAVAILABLE', { cause, retryAfter: 1 });
}
