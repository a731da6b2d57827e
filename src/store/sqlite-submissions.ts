/**
 * The near side of the writer thread: hands submissions over, and settles them when they are on disk. Each thread of
 * the process that writes has a port of its own to it. A writer thread that dies fails what it held, and is replaced.
 */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { Failure } from '../contract/errors.ts';
import { type Unit, type UnitRows, UnitsRefused } from './engine.ts';
import { steps } from './migrations/migrations.ts';
import type { Submission, SubmissionResult, WriterOrder } from './sqlite-writer.ts';

/** For every connection that writes. */
export const pragmas = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  PRAGMA secure_delete = FAST;
  PRAGMA temp_store = MEMORY;
  PRAGMA cache_size = -8000;
  PRAGMA wal_autocheckpoint = 4000;
`;
const workerFile = import.meta.url.endsWith('.ts') ? './sqlite-writer.ts' : './sqlite-writer.js';
/** In MB. What the writer makes is short-lived, and would else be left lying about in much more memory. */
const youngest = 6;

export function unavailable(cause: unknown): Failure {
  return new Failure('UNAVAILABLE', { cause, retryAfter: 1 });
}

interface Waiting {
  readonly resolve: (rows: readonly UnitRows[]) => void;
  readonly reject: (error: Error) => void;
}

/** One thread's way to the writer. */
export class Submissions {
  readonly #port: MessagePort;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  /** What waits for the next submission, to share its sync. */
  #patient: Submission[] = [];
  #patienceOver: NodeJS.Timeout | undefined;
  #nextId = 1;
  #isOver = false;

  constructor(port: MessagePort) {
    this.#port = port;
    this.#ended = new Promise(resolve => port.once('close', () => resolve()));
    port.on('message', (result: SubmissionResult) => this.#settle(result));
    port.once('close', () => this.#end());
  }

  commit(units: readonly Unit[], patience = 0): Promise<readonly UnitRows[]> {
    if (this.#isOver) return Promise.reject(unavailable(new Error('the store is closed')));
    return new Promise((resolve, reject) => {
      const submission: Submission = { id: this.#nextId++, units };
      this.#waiting.set(submission.id, { resolve, reject });
      this.#patient.push(submission);
      if (patience === 0) this.#submit();
      else this.#patienceOver ??= setTimeout(() => this.#submit(), patience);
    });
  }

  /** Resolves once all that was handed over is settled, and the writer has let go of the port. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#submit();
    this.#port.postMessage('close');
    await this.#ended;
  }

  #submit(): void {
    clearTimeout(this.#patienceOver);
    this.#patienceOver = undefined;
    if (this.#patient.length > 0) this.#port.postMessage(this.#patient);
    this.#patient = [];
  }

  #settle(result: SubmissionResult): void {
    const waiting = this.#waiting.get(result.id);
    this.#waiting.delete(result.id);
    if (waiting === undefined) return;
    if ('rows' in result) waiting.resolve(result.rows);
    else if ('refusals' in result) waiting.reject(new UnitsRefused(result.refusals));
    else waiting.reject(unavailable(new Error(result.failure)));
  }

  #end(): void {
    this.#isOver = true;
    for (const { reject } of this.#waiting.values())
      reject(unavailable(new Error('the writer thread ended')));
    this.#waiting.clear();
    this.#patient = [];
  }
}

/** The writer thread, and this thread's own way to it. */
export class Writer {
  readonly #path: string;
  #thread: Worker;
  #own: Submissions;
  #closing = false;

  constructor(path: string) {
    this.#path = path;
    this.#thread = this.#start();
    this.#own = new Submissions(this.port());
  }

  commit(units: readonly Unit[], patience = 0): Promise<readonly UnitRows[]> {
    return this.#own.commit(units, patience);
  }

  /** A way to the writer for another thread. */
  port(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    const order: WriterOrder = { port: port2 };
    this.#thread.postMessage(order, [port2]);
    return port1;
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    await this.#own.close();
    const ended = new Promise(resolve => this.#thread.once('exit', resolve));
    const order: WriterOrder = 'close';
    this.#thread.postMessage(order);
    await ended;
  }

  #start(): Worker {
    const thread = new Worker(new URL(workerFile, import.meta.url), {
      workerData: { path: this.#path, pragmas, steps: Object.keys(steps) },
      resourceLimits: { maxYoungGenerationSizeMb: youngest },
    });
    thread.on('error', () => {}); // Its ports close, and so fail what it held.
    thread.on('exit', () => {
      if (this.#closing) return;
      this.#thread = this.#start();
      this.#own = new Submissions(this.port());
    });
    return thread;
  }
}
