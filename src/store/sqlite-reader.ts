/**
 * The near side of the reader thread: a dialect of the builder whose queries run over there, one after another, each on
 * what was committed when it began. The thread starts with the first query. Only so many wait; one more is told to come
 * back. A thread that dies fails what it held, and the next query starts another.
 */
import { Worker } from 'node:worker_threads';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { Failure } from '../contract/errors.ts';
import { refuseNul } from './engine.ts';
import type { Found, Question } from './sqlite-reader-thread.ts';

const threadFile = import.meta.url.endsWith('.ts')
  ? './sqlite-reader-thread.ts'
  : './sqlite-reader-thread.js';
const mostWaiting = 200;

export function readerDialect(path: string): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new ReaderDriver(new Reader(path)),
    createIntrospector: db => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

type Rows = readonly Record<string, unknown>[];

class Reader {
  readonly #path: string;
  readonly #waiting = new Map<number, PromiseWithResolvers<Rows>>();
  #thread: Worker | null = null;
  #lastId = 0;

  constructor(path: string) {
    this.#path = path;
  }

  ask(sql: string, parameters: readonly unknown[]): Promise<Rows> {
    refuseNul(parameters);
    if (this.#waiting.size >= mostWaiting) {
      return Promise.reject(new Failure('UNAVAILABLE', { retryAfter: 1 }));
    }
    const question: Question = { id: ++this.#lastId, sql, parameters };
    const waiting = Promise.withResolvers<Rows>();
    this.#waiting.set(question.id, waiting);
    this.#thread ??= this.#start();
    this.#thread.postMessage(question);
    return waiting.promise;
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === null) return;
    const ended = new Promise(resolve => thread.once('exit', resolve));
    thread.postMessage('close');
    await ended;
  }

  #start(): Worker {
    const thread = new Worker(new URL(threadFile, import.meta.url), { workerData: { path: this.#path } });
    thread.on('message', (found: Found) => this.#settle(found));
    thread.on('error', cause => this.#failAll(cause));
    thread.on('exit', () => {
      this.#thread = null;
      this.#failAll(new Error('the reader thread ended'));
    });
    return thread;
  }

  #settle(found: Found): void {
    const waiting = this.#waiting.get(found.id);
    this.#waiting.delete(found.id);
    if ('rows' in found) waiting?.resolve(found.rows);
    else waiting?.reject(unavailable(new Error(found.failure)));
  }

  #failAll(cause: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(unavailable(cause));
    this.#waiting.clear();
  }
}

function unavailable(cause: unknown): Failure {
  return new Failure('UNAVAILABLE', { cause, retryAfter: 1 });
}

/** It reads, and nothing else: there is no transaction to begin. */
class ReaderDriver implements Driver {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return new ReaderConnection(this.#reader);
  }
  async beginTransaction(): Promise<void> {
    throw new Error('the reader has no transactions');
  }
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  async releaseConnection(): Promise<void> {}
  destroy(): Promise<void> {
    return this.#reader.close();
  }
}

class ReaderConnection implements DatabaseConnection {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    return { rows: (await this.#reader.ask(sql, parameters)) as Row[] };
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query);
  }
}
