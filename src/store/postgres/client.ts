/**
 * A connection to a PostgreSQL server. Once connected, the server accepts writes, the session's limits are set, and all
 * names are looked up only in our schema.
 */
import type { EventEmitter } from 'node:events';
import pg from 'pg';
import type { PostgresHost } from './address.ts';
import { needsNoPin, PinnedQuery, settingPath } from './search-path.ts';

export interface SessionSettings {
  /** How long to wait for an answer, in milliseconds. */
  readonly queryTimeout: number;
  /** Settings of the session, applied if it is not shared through a pooler. */
  readonly limits?: Readonly<Record<string, string>>;
}

export interface Greeting {
  readonly pid: number;
  readonly standby: boolean;
  readonly readOnly: boolean;
}

export interface Server extends PostgresHost {
  readonly encryptions: readonly boolean[];
  /** The index of the one to try. */
  encryption: number;
  failure: Error | null;
}

/** The servers that a connection can be made to, as far as it needs to know them. */
export interface Servers {
  /** The server to try next. */
  readonly server: Server;
  readonly isPooled: boolean;
  /** The search path; null before it was determined. */
  readonly path: string | null;
  readonly connectTimeout: number;
  losses: number;
  configFor(server: Server, settings: SessionSettings): pg.ClientConfig;
  awaiting(client: ServerClient): () => void;
  greeted(server: Server, greeting: Greeting, processId: number): void;
  failed(server: Server, encryption: number, error: Error): void;
  findPath(client: pg.Client): Promise<string>;
}

type Connected = ((error: Error) => void) & ((error: null, client: pg.Client) => void);

export class ServerClient extends pg.Client {
  readonly server: Server;
  readonly #servers: Servers;
  readonly #settings: SessionSettings;
  readonly #encryption: number;

  constructor(servers: Servers, settings: SessionSettings, server = servers.server) {
    super(servers.configFor(server, settings));
    this.server = server;
    this.#servers = servers;
    this.#settings = settings;
    this.#encryption = server.encryption;
    // Without a listener, a broken connection would end the process. Pending queries fail in any case.
    this.on('error', () => {
      servers.losses++;
    });
    this.on('notice', notice => this.#refuseUnreplicated(notice as pg.DatabaseError));
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    const connected = this.#connect();
    if (callback === undefined) return connected;
    connected.then(client => callback(null, client), callback as (error: Error) => void);
    return undefined;
  }

  async #connect(): Promise<pg.Client> {
    const answered = this.#servers.awaiting(this);
    try {
      await super.connect();
      const { path } = this.#servers;
      const { rows } = await super.query({
        text: greeting(this.processId, this.#settings.limits ?? {}, path),
        query_timeout: this.#servers.connectTimeout,
      } as pg.QueryConfig);
      this.#servers.greeted(this.server, rows[0] as Greeting, this.processId);
      if (path === null) await this.#pin(await this.#servers.findPath(this));
      return this;
    } catch (error) {
      cut(this);
      this.#servers.failed(this.server, this.#encryption, error as Error);
      throw error;
    } finally {
      answered();
    }
  }

  /** If the session is shared through a pooler, each statement sets the search path itself. */
  // biome-ignore lint/suspicious/noExplicitAny: covers all the driver's overloads
  override query(config: any, values?: any, callback?: any): any {
    const { isPooled, path } = this.#servers;
    if (!isPooled || path === null || needsNoPin(config)) return super.query(config, values, callback);
    const pinned = new PinnedQuery(path, config, values, callback);
    if (pinned.callback !== undefined) return super.query(pinned as never);
    return new Promise((resolve, reject) => {
      pinned.callback = (error, result) => (error === null ? resolve(result) : reject(error));
      super.query(pinned as never);
    });
  }

  async #pin(path: string): Promise<void> {
    if (!this.#servers.isPooled) await super.query(`SELECT ${settingPath(path, false)}`);
  }

  /**
   * A commit's wait for its standby was cancelled on the server. The server reports success with a warning; here it
   * counts as a connection that broke before the answer.
   */
  #refuseUnreplicated({ routine }: pg.DatabaseError): void {
    if (routine !== 'SyncRepWaitForLSN') return;
    const { connection } = this as unknown as { connection: EventEmitter };
    connection.emit('error', new Error('a commit was not replicated'));
  }

  /** As reported when we connected. */
  get processId(): number {
    return (this as unknown as { processID: number | null }).processID ?? 0;
  }
}

/** A single round trip. The server sets the limits only if it is the process that was reported to us. */
function greeting(processId: number, limits: Readonly<Record<string, string>>, path: string | null): string {
  const settings = Object.entries(limits).map(
    ([name, value]) => `pg_catalog.set_config('${name}', '${value}', false)`,
  );
  if (path !== null) settings.push(settingPath(path, false));
  const isOurs = `pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) ${processId}`;
  const facts = `pg_catalog.pg_backend_pid() AS pid, pg_catalog.pg_is_in_recovery() AS standby,
    pg_catalog.current_setting('transaction_read_only') OPERATOR(pg_catalog.=) 'on' AS "readOnly"`;
  return `SELECT ${[facts, ...settings.map(setting => `CASE WHEN ${isOurs} THEN ${setting} END`)].join(', ')}`;
}

/** Closes the connection immediately, so that pending queries fail now rather than after a TCP timeout. */
export function cut(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
