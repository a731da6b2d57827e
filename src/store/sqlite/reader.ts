/**
 * The client of the reader thread: a Kysely dialect whose queries run there, one after another, each on the data
 * committed when it began. The thread starts with the first query. The number of waiting queries is limited, in total
 * and per organization; beyond it they fail with UNAVAILABLE. Organizations and callers take turns. If the thread dies,
 * its queries fail, and the next query starts another.
 */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  DummyDriver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { asker, FairLine } from '../../base/fair-line.ts';
import { Failure } from '../../contract/errors.ts';
import { startThread, ThreadOnDemand, threadFile } from '../../threads/thread.ts';
import { refuseNul } from '../engine/engine.ts';
import type { ReaderServices } from './reader-thread.ts';
import { unavailable } from './submissions.ts';

const file = threadFile(import.meta.url, 'reader-thread');
const mostWaiting = 200;
const mostOfOne = 100;
/**
 * How many queries are sent to the thread in advance, so that it never waits for the next. It answers them in order.
 */
const ahead = 2;

export function readerDialect(path: string): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new ReaderDriver(new Reader(path)),
    createIntrospector: db => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

type Rows = readonly Record<string, unknown>[];

interface Waiting extends PromiseWithResolvers<Rows> {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

class Reader implements DatabaseConnection {
  readonly #line = new FairLine<Waiting>();
  readonly #thread: ThreadOnDemand<ReaderServices>;

  constructor(path: string) {
    this.#thread = new ThreadOnDemand(() => startThread(file, { data: path }));
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    return { rows: (await this.ask(sql, parameters)) as Row[] };
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query);
  }

  ask(sql: string, parameters: readonly unknown[]): Promise<Rows> {
    refuseNul(parameters);
    const lane = asker();
    const isFull = this.#line.length >= mostWaiting || this.#line.lengthIn(lane.organization) >= mostOfOne;
    if (isFull) return Promise.reject(new Failure('UNAVAILABLE', { retryAfter: 1 }));
    const waiting = { sql, parameters, ...Promise.withResolvers<Rows>() };
    this.#line.push(lane, waiting);
    this.#send(ahead);
    return waiting.promise;
  }

  #send(most: number): void {
    while ((this.#thread.running?.pending ?? 0) < most) {
      const next = this.#line.shift();
      if (next === undefined) return;
      this.#thread
        .get()
        .call('rows', next.sql, next.parameters)
        .then(next.resolve, ({ cause }: Failure) => next.reject(unavailable(cause)))
        .finally(() => this.#send(ahead));
    }
  }

  /** Waiting queries are still answered. */
  async close(): Promise<void> {
    this.#send(Number.POSITIVE_INFINITY);
    const thread = this.#thread.running;
    thread?.notify('close');
    await thread?.ended;
  }
}

/** Only for reading: it has no transactions. */
class ReaderDriver extends DummyDriver {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    super();
    this.#reader = reader;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return this.#reader;
  }
  override async beginTransaction(): Promise<void> {
    throw new Error('the reader has no transactions');
  }
  override destroy(): Promise<void> {
    return this.#reader.close();
  }
}
