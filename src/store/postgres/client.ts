/**
 * One connection to a PostgreSQL server. Connected means: to a server that takes writes, with its limits set, and with
 * every name looked up in our schema alone.
 */
import type { EventEmitter } from 'node:events';
import pg from 'pg';
import type { PostgresHost } from './address.ts';
import { needsNoPin, PinnedQuery, settingPath } from './search-path.ts';

export interface SessionSettings {
  /** How many milliseconds we wait for an answer. */
  readonly queryTimeout: number;
  /** What the session is set to, where it is ours alone. */
  readonly limits?: Readonly<Record<string, string>>;
}

export interface Greeting {
  readonly pid: number;
  readonly standby: boolean;
  readonly readOnly: boolean;
}

export interface Server extends PostgresHost {
  readonly encryptions: readonly boolean[];
  /** Which of them is tried. */
  encryption: number;
  failure: Error | null;
}

/** Those that a connection can be made to, as far as it needs to know them. */
export interface Servers {
  /** The one to try next. */
  readonly server: Server;
  readonly isPooled: boolean;
  /** Where names are looked up; null before that was found. */
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
    // Without a listener, a connection that breaks would end the process; whoever waits for it is told anyway.
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

  /** Where the session is not ours alone, each statement is pinned by itself. */
  // biome-ignore lint/suspicious/noExplicitAny: the driver's many forms of it all come through here
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
   * Somebody ended the wait of a commit for its standby. The server calls that a success, with a warning; for us it is a
   * connection that broke before the answer.
   */
  #refuseUnreplicated({ routine }: pg.DatabaseError): void {
    if (routine !== 'SyncRepWaitForLSN') return;
    const { connection } = this as unknown as { connection: EventEmitter };
    connection.emit('error', new Error('a commit was not replicated'));
  }

  /** As the other side said it when we connected. */
  get processId(): number {
    return (this as unknown as { processID: number | null }).processID ?? 0;
  }
}

/** One round trip: the limits are set by the server itself, if it is the process that we were told of. */
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

/** Ends the connection at once: whoever waits for it fails now, and not when TCP gives up. */
export function cut(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
