/**
 * The one way to a PostgreSQL server. Of the hosts in the URL it takes the one that takes writes, beginning with the one
 * that did last; a standby is refused. A host that does not answer is given two seconds, during which the others are tried:
 * however many of them are silent, the one that takes writes is found at once. A connection sends no parameters but the
 * user, the database and a name, which every pooler lets through: limits are set once it is known that the session is
 * ours alone. Behind a pooler it isn't, and that is found by the number of the process that
 * serves us, which a pooler makes up.
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
  /** A direct way to the same database, where the other one leads through a pooler. */
  readonly listenUrl?: string | null;
  readonly passwordFile?: string | null;
  readonly environment?: PostgresEnvironment;
}

const bigint = 20;
const connectTimeout = 2_000;
/** Just-in-time compilation costs more than our short queries, and far more without statistics. */
export const noJit = { jit: 'off' };

export class PostgresServers implements Servers {
  readonly #address: PostgresAddress;
  readonly #passwordFile: string | null;
  readonly #servers: readonly Server[];
  /** Those that wait for a server's answer. */
  readonly #connecting = new Set<ServerClient>();
  #at = 0;
  /** Whether it must be found out, of several, which one takes writes. */
  #isLost: boolean;
  #search: Promise<void> | null = null;
  #isPooled = false;
  /** The one that contains our tables, once a connection has found it. */
  #schema: string | null = null;
  /** How many connections were lost that nobody ended. */
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

  /** Whether a pooler was found in between: then nothing that is said to one session holds for the next statement. */
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

  /** How long one host is given. */
  get connectTimeout(): number {
    const seconds = Number(this.#address.parameters.connect_timeout ?? 0);
    return seconds > 0 ? seconds * 1_000 : connectTimeout;
  }

  /** A connection of its own. Whoever asked for it ends it. */
  connect(settings: SessionSettings): Promise<pg.Client> {
    return this.reaching(async () => new ServerClient(this, settings).connect());
  }

  /** Makes a connection, and once more where it was meanwhile found out that it is to be made in another way. */
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

  /** The one that takes writes, of several. Whoever looks for it at the same time looks together. */
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

  /** A connection to one of several that takes long: whether another one takes writes by now is found out beside it. */
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

  /** The one to try next. */
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

  /** Where several are to choose from, one that is set to take no writes is passed over like a standby. */
  greeted(server: Server, { pid, standby, readOnly }: Greeting, processId: number): void {
    if (standby) throw new Error('the server is a standby');
    if (readOnly && this.#servers.length > 1) throw new Error('the server takes no writes');
    if (pid !== processId) this.#isPooled = true;
    server.failure = null;
  }

  /** From now on it is tried in another way, or another one is looked for. Whoever comes late changes nothing. */
  failed(server: Server, encryption: number, error: Error): void {
    server.failure = error;
    if (encryption !== server.encryption) return;
    const isRefused = server.encryptions.length > 1 && isAboutEncryption(error);
    if (isRefused) server.encryption = 1 - encryption;
    else if (server === this.server) this.#isLost = this.#servers.length > 1;
  }

  /** One that none of several could be reached for says so of each. */
  #whyFailed(cause: unknown): unknown {
    if (this.#servers.length === 1 || this.#servers.some(({ failure }) => failure === null)) return cause;
    const each = this.#servers.map(({ host, port, failure }) => `${host}:${port} ${failure?.message ?? ''}`);
    return new Error(`no server takes writes (${each.join('; ')})`, { cause });
  }
}

/** What the other side may take without encryption, or only with it. */
function isAboutEncryption(error: Error & { code?: unknown }): boolean {
  return error.code === '28000' || /SSL|TLS|certificate|self.signed/i.test(`${error.code} ${error.message}`);
}

const getTypeParser: typeof pg.types.getTypeParser = ((oid: number, format: 'text' | 'binary') =>
  oid === bigint ? Number : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser;
