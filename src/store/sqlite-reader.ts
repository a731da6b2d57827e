/**
 * The near side of the reader thread: a dialect of the builder whose queries run over there, one after another, each on
 * what was committed when it began. The thread starts with the first query. Only so many wait, in all and of one organization;
 * one more is told to come back. Organizations and callers have their queries answered in turn. A thread that dies fails
 * what it held, and the next query starts another.
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
import { asker, FairLine } from '../fair-line.ts';
import { refuseNul } from './engine.ts';
import type { Found, Question } from './sqlite-reader-thread.ts';

const threadFile = import.meta.url.endsWith('.ts')
  ? './sqlite-reader-thread.ts'
  : './sqlite-reader-thread.js';
const mostWaiting = 200;
const mostOfOne = 100;
/** That the thread has before it, so that it never waits for the next; what it has is answered in this order. */
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

interface Waiting {
  readonly question: Question;
  readonly answer: PromiseWithResolvers<Rows>;
}

class Reader {
  readonly #path: string;
  readonly #line = new FairLine<Waiting>();
  /** What the thread has before it. */
  readonly #asked = new Map<number, PromiseWithResolvers<Rows>>();
  #thread: Worker | null = null;
  #lastId = 0;

  constructor(path: string) {
    this.#path = path;
  }

  ask(sql: string, parameters: readonly unknown[]): Promise<Rows> {
    refuseNul(parameters);
    const lane = asker();
    const isFull = this.#line.length >= mostWaiting || this.#line.lengthIn(lane.organization) >= mostOfOne;
    if (isFull) return Promise.reject(new Failure('UNAVAILABLE', { retryAfter: 1 }));
    const question: Question = { id: ++this.#lastId, sql, parameters };
    const answer = Promise.withResolvers<Rows>();
    this.#line.push(lane, { question, answer });
    this.#send(ahead);
    return answer.promise;
  }

  #send(most: number): void {
    while (this.#asked.size < most) {
      const next = this.#line.shift();
      if (next === undefined) return;
      this.#asked.set(next.question.id, next.answer);
      this.#thread ??= this.#start();
      this.#thread.postMessage(next.question);
    }
  }

  /** What waits is still answered. */
  async close(): Promise<void> {
    this.#send(Number.POSITIVE_INFINITY);
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
    const answer = this.#asked.get(found.id);
    this.#asked.delete(found.id);
    if ('rows' in found) answer?.resolve(found.rows);
    else answer?.reject(unavailable(new Error(found.failure)));
    this.#send(ahead);
  }

  #failAll(cause: unknown): void {
    for (const { reject } of this.#asked.values()) reject(unavailable(cause));
    this.#asked.clear();
    this.#send(ahead);
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
