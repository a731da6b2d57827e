/**
 * Connects to PostgreSQL. Of the hosts in the URL it uses the one that accepts writes, starting with the one that did
 * last; a standby is refused. A host has two seconds to answer, during which the others are tried, so the writable
 * server is found quickly even if others don't respond. A connection sends only the user, the database and an
 * application name as parameters, which every pooler accepts. Limits are set once it is known that the session is not
 * shared through a pooler. A pooler is detected by the process id, because it reports one of its own.
 */
import pg from 'pg';
import {
  addressIn,
  encryptionsOf,
  type PostgresAddress,
  type PostgresEnvironment,
  passwordFor,
  tlsOf,
} from './address.ts';
import {
  cut,
  type Greeting,
  type Server,
  ServerClient,
  type Servers,
  type SessionSettings,
} from './client.ts';
import { pathTo, schemaFor } from './search-path.ts';
import { firstReached, stagger } from './staggered.ts';

export interface PostgresPlace {
  readonly url: string;
  /** A direct URL for the same database, if the other one leads through a pooler. */
  readonly listenUrl?: string | null;
  readonly passwordFile?: string | null;
  readonly environment?: PostgresEnvironment;
}

const bigint = 20;
const connectTimeout = 2_000;
/** Just-in-time compilation costs more than our short queries, especially without statistics. */
export const noJit = { jit: 'off' };

export class PostgresServers implements Servers {
  readonly #address: PostgresAddress;
  readonly #passwordFile: string | null;
  readonly #servers: readonly Server[];
  /** Connections that wait for a server's answer. */
  readonly #connecting = new Set<ServerClient>();
  #at = 0;
  /** Whether it is unknown which of several servers accepts writes. */
  #isLost: boolean;
  #search: Promise<void> | null = null;
  #isPooled = false;
  /** The schema that contains our tables, once a connection has found it. */
  #schema: string | null = null;
  /** How many connections were lost unexpectedly. */
  losses = 0;

  constructor({ url, passwordFile = null, environment }: Omit<PostgresPlace, 'listenUrl'>) {
    this.#address = addressIn(url, environment);
    this.#passwordFile = passwordFile;
    this.#servers = this.#address.hosts.map(host => ({
      ...host,
      encryptions: encryptionsOf(this.#address, host),
      encryption: 0,
      failure: null,
    }));
    this.#isLost = this.#servers.length > 1;
  }

  /** Whether there is a pooler. If so, session state does not carry over to the next statement. */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  get path(): string | null {
    return this.#schema === null ? null : pathTo(this.#schema);
  }

  async findPath(client: pg.Client): Promise<string> {
    const isNamed = /search_path/.test(this.#address.parameters.options ?? '');
    const found = await schemaFor(client, isNamed);
    this.#schema ??= found;
    return pathTo(this.#schema);
  }

  /** How long a host has to answer. */
  get connectTimeout(): number {
    const seconds = Number(this.#address.parameters.connect_timeout ?? 0);
    return seconds > 0 ? seconds * 1_000 : connectTimeout;
  }

  /** Opens a separate connection, which the caller must end. */
  connect(settings: SessionSettings): Promise<pg.Client> {
    return this.reaching(async () => new ServerClient(this, settings).connect());
  }

  /** Connects, and retries once if the server or the encryption to use has changed in the meantime. */
  async reaching<T>(attempt: () => Promise<T>): Promise<T> {
    if (this.#isLost) await this.#find();
    const { server } = this;
    const { encryption } = server;
    try {
      return await attempt();
    } catch (error) {
      if (this.#isLost) await this.#find();
      else if (this.server === server && server.encryption === encryption) throw error;
      return attempt();
    }
  }

  /** Finds the one of several servers that accepts writes. Concurrent calls share one search. */
  #find(): Promise<void> {
    this.#search ??= this.#look().finally(() => {
      this.#search = null;
    });
    return this.#search;
  }

  async #look(): Promise<void> {
    const inTurn = [...this.#servers.slice(this.#at), ...this.#servers.slice(0, this.#at)];
    try {
      this.#at = this.#servers.indexOf(await firstReached(inTurn, server => this.#greet(server)));
      this.#isLost = false;
    } catch (error) {
      throw this.#whyFailed(error);
    }
    for (const client of this.#connecting) if (client.server !== this.server) cut(client);
  }

  async #greet(server: Server): Promise<void> {
    const { encryption } = server;
    const greet = async () => {
      const client = await new ServerClient(this, { queryTimeout: this.connectTimeout }, server).connect();
      void client.end().catch(() => {});
    };
    await greet().catch(error => {
      if (server.encryption === encryption) throw error;
      return greet();
    });
  }

  /** If a connection to one of several servers is slow, checks in parallel whether another one now accepts writes. */
  awaiting(client: ServerClient): () => void {
    this.#connecting.add(client);
    const isKnown = this.#servers.length > 1 && !this.#isLost && client.server === this.server;
    const look = () => void this.#find().catch(() => {});
    const slow = isKnown ? setTimeout(look, stagger) : undefined;
    return () => {
      clearTimeout(slow);
      this.#connecting.delete(client);
    };
  }

  /** The server to try next. */
  get server(): Server {
    return this.#servers[this.#at]!;
  }

  configFor(server: Server, settings: SessionSettings): pg.ClientConfig {
    const { user, database, parameters } = this.#address;
    const isEncrypted = server.encryptions[server.encryption]!;
    return {
      host: server.host,
      port: server.port,
      user,
      database,
      password: () => passwordFor(this.#address, server, this.#passwordFile) as Promise<string>,
      ssl: isEncrypted ? tlsOf(this.#address) : false,
      ...(isEncrypted && { sslnegotiation: parameters.sslnegotiation ?? 'postgres' }),
      enableChannelBinding: ['prefer', 'require'].includes(parameters.channel_binding ?? ''),
      application_name: parameters.application_name ?? 'strongroom',
      ...(parameters.options !== undefined && { options: parameters.options }),
      connectionTimeoutMillis: this.connectTimeout,
      query_timeout: settings.queryTimeout,
      keepAlive: true,
      types: { getTypeParser },
    } as pg.ClientConfig;
  }

  /** If there are several servers, one that is read-only is skipped like a standby. */
  greeted(server: Server, { pid, standby, readOnly }: Greeting, processId: number): void {
    if (standby) throw new Error('the server is a standby');
    if (readOnly && this.#servers.length > 1) throw new Error('the server is read-only');
    if (pid !== processId) this.#isPooled = true;
    server.failure = null;
  }

  /** Switches the encryption, or causes a search for another server. A late failure changes nothing. */
  failed(server: Server, encryption: number, error: Error): void {
    server.failure = error;
    if (encryption !== server.encryption) return;
    const isRefused = server.encryptions.length > 1 && isAboutEncryption(error);
    if (isRefused) server.encryption = 1 - encryption;
    else if (server === this.server) this.#isLost = this.#servers.length > 1;
  }

  /** If none of several servers could be reached, the error names the reason for each. */
  #whyFailed(cause: unknown): unknown {
    if (this.#servers.length === 1 || this.#servers.some(({ failure }) => failure === null)) return cause;
    const each = this.#servers.map(({ host, port, failure }) => `${host}:${port} ${failure?.message ?? ''}`);
    return new Error(`no server accepts writes (${each.join('; ')})`, { cause });
  }
}

/** Whether the server may accept the connection with a different choice of encryption. */
function isAboutEncryption(error: Error & { code?: unknown }): boolean {
  return error.code === '28000' || /SSL|TLS|certificate|self.signed/i.test(`${error.code} ${error.message}`);
}

const getTypeParser: typeof pg.types.getTypeParser = ((oid: number, format: 'text' | 'binary') =>
  oid === bigint ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser;
