/**
 * The connections that a store works with: all of them to one server, the one that takes writes. When that server
 * says that it is going, that it is a standby by now, or that the connection is no good, all of them are cut, and the
 * next request begins anew. Every failure is UNAVAILABLE, but for those that are our own mistake.
 */
import pg from 'pg';
import { Failure } from '../../contract/errors.ts';
import { StoreError } from '../engine/store-error.ts';
import { cut, ServerClient, type SessionSettings } from './client.ts';
import { pinning } from './search-path.ts';
import { noJit, type PostgresServers } from './servers.ts';

const mostConnections = 10;
const longestGoodbye = 2_000;
/** Where a database is set to take no writes, every one of them fails so: those who read are not cut off each time. */
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
/** The same for one transaction, where the session is not ours. */
const limitsOfTransaction = `SET LOCAL statement_timeout = ${longestStatement};
  SET LOCAL idle_in_transaction_session_timeout = ${longestStatement}`;
/** A server that goes away, that takes no writes (any more), and connections that are broken. */
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
    super({
      Client,
      max: mostConnections,
      connectionTimeoutMillis: servers.connectTimeout,
    });
    this.#servers = servers;
    this.on('error', () => {}); // It is replaced, and its query fails: there is nobody else to tell.
    this.on('connect', client => this.#add(client as unknown as ServerClient));
    this.on('remove', client => this.#clients.delete(client as unknown as ServerClient));
  }

  /** Begins a transaction that is given up when it takes too long. */
  get begin(): string {
    const { isPooled, path } = this.#servers;
    return isPooled ? `BEGIN; ${pinning(path!)}; ${limitsOfTransaction}` : 'BEGIN';
  }

  /** Whether what is prepared under a name is there for the next statement. */
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

  /** A statement that PostgreSQL finds wrong is our mistake; everything else means it can't serve us now. */
  readonly fail = (cause: unknown): never => {
    if (startsOver.test(codeOf(cause)) && performance.now() - this.#cutAt >= betweenCuts) {
      this.#cutAt = performance.now();
      this.cutAll();
    }
    return unavailable(cause);
  };

  /** Whether one of the connections is to this process of the server. */
  has(processId: number): boolean {
    return [...this.#clients].some(client => client.processId === processId);
  }

  /** Whoever waits for a server that fell silent is told now. */
  cutAll(): void {
    for (const client of this.#clients) cut(client);
  }

  /** The same, if a new connection gets no answer either. A busy server is slow, and cutting it off makes it slower. */
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

  /** Never to two servers at once: what one has, the other may lack. */
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

/** For a connection of its own. */
export function unavailable(cause: unknown): never {
  const ours = cause instanceof StoreError || /^(22|42)/.test(codeOf(cause));
  throw ours ? cause : new Failure('UNAVAILABLE', { cause, retryAfter: 1 });
}
