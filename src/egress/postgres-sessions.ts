/**
 * Connections to PostgreSQL servers that a user chose. Where the connection goes is decided like that of a webhook: the
 * address is judged after the name was resolved, and exactly that address is connected to. Encryption is required, and
 * the server's certificate verified for the name in the URL, except in networks that the operator opened. Nothing comes
 * from the environment or the operator's files. Errors never contain the password.
 */
import pg from 'pg';
import { permittedAddress, type ServiceTarget, type SocketParts, verifiedTls } from './judged-sockets.ts';

export interface OpenedPostgres {
  query(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>;
  within<T>(database: string, work: (session: Pick<OpenedPostgres, 'query'>) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface PostgresSessionParts extends SocketParts {
  /** How an answer of the server that is an error is reported. */
  readonly refused: (message: string, code: string) => Error;
}

const connectPatience = 8_000;
/** Creating a user takes four answers: less than a lease waits before it counts as not created. */
const answerPatience = 8_000;

export function postgresSessionsWith(parts: PostgresSessionParts) {
  return async (target: ServiceTarget): Promise<OpenedPostgres> => {
    const address = await permittedAddress(parts, target);
    const client = await connected(parts, target, address);
    return {
      ...queriesOf(parts, client),
      within: async (database, work) => {
        if (database === target.database) return work(queriesOf(parts, client));
        const other = await connected(parts, { ...target, database }, address);
        try {
          return await work(queriesOf(parts, other));
        } finally {
          await other.end().catch(() => {});
        }
      },
      close: () => client.end().catch(() => {}),
    };
  };
}

async function connected(parts: PostgresSessionParts, target: ServiceTarget, address: string) {
  const { port, database, username: user, password, encrypted } = target;
  const client = new pg.Client({
    host: address,
    port,
    database,
    user,
    password,
    ssl: encrypted ? verifiedTls(target) : false,
    application_name: 'strongroom',
    connectionTimeoutMillis: connectPatience,
    query_timeout: answerPatience,
    statement_timeout: answerPatience,
    lock_timeout: answerPatience,
  });
  // Without a listener, a connection that breaks would end the process. Its queries fail in any case.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query("SET search_path = ''");
  } catch (error) {
    void client.end().catch(() => {});
    throw reported(parts, error);
  }
  return client;
}

function queriesOf(parts: PostgresSessionParts, client: pg.Client): Pick<OpenedPostgres, 'query'> {
  return {
    query: async (text, values = []) => {
      try {
        const answer = values.length === 0 ? client.query(text) : client.query(text, [...values]);
        return (await answer).rows;
      } catch (error) {
        throw reported(parts, error);
      }
    },
  };
}

/** The server's own errors have a code of five characters; others say that it can't be reached. */
function reported({ refused }: PostgresSessionParts, error: unknown): unknown {
  const { code, message, severity } = error as Error & { code?: unknown; severity?: unknown };
  const isServers = typeof code === 'string' && code.length === 5 && severity !== undefined;
  return isServers ? refused(message.slice(0, 300), code) : error;
}
