/**
 * The client of the writer thread: sends submissions, and resolves them when they are on disk. Each thread of the
 * process that writes has its own port. If the writer thread dies, its submissions fail, and it is replaced.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Failure } from '../../contract/errors.ts';
import { Channel, type Port } from '../../threads/channel.ts';
import { startThread, type Thread, threadFile } from '../../threads/thread.ts';
import { type Unit, type UnitRows, UnitsRefused } from '../engine/engine.ts';
import { steps } from '../migrations/migrations.ts';
import type { SubmissionServices, WriterData, WriterServices } from './writer-thread.ts';

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
const file = threadFile(import.meta.url, 'writer-thread');
/** In MB. The writer's objects are short-lived; without a limit, garbage would occupy much more memory. */
const youngest = 6;

export function unavailable(cause: unknown): Failure {
  return new Failure('UNAVAILABLE', { cause, retryAfter: 1 });
}

/** One thread's connection to the writer. */
export class Submissions {
  readonly #channel: Channel<SubmissionServices>;
  readonly #ended: Promise<void>;
  #isOver = false;

  constructor(port: MessagePort) {
    this.#channel = new Channel(port as Port, {});
    this.#ended = new Promise(resolve => port.once('close', () => resolve()));
    port.once('close', () => {
      this.#isOver = true;
      this.#channel.end(new Error('the writer thread ended'));
    });
  }

  /** `patience`: how many milliseconds a submission may wait for the next one, to share its sync. */
  async commit(units: readonly Unit[], patience = 0): Promise<readonly UnitRows[]> {
    if (this.#isOver) throw unavailable(new Error('the store is closed'));
    const result = await this.#channel.callWithin(patience === 0 ? undefined : patience, 'commit', units);
    if ('rows' in result) return result.rows;
    if ('refusals' in result) throw new UnitsRefused(result.refusals);
    throw unavailable(new Error(result.failure));
  }

  /** Resolves once all submissions are settled and the writer has closed the port. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#channel.notify('close');
    await this.#ended;
  }
}

/** The writer thread, and this thread's own connection to it. */
export class Writer {
  readonly #path: string;
  #thread: Thread<WriterServices>;
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

  /** A port to the writer for another thread. */
  port(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#thread.notifyMoving([port2], 'listen', port2);
    return port1;
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    await this.#own.close();
    this.#thread.notify('close');
    await this.#thread.ended;
  }

  /** If it dies its ports close, so that its submissions fail. */
  #start(): Thread<WriterServices> {
    const data: WriterData = { path: this.#path, pragmas, steps: Object.keys(steps) };
    const thread = startThread<WriterServices>(file, { data, youngest });
    void thread.ended.then(() => {
      if (this.#closing) return;
      this.#thread = this.#start();
      this.#own = new Submissions(this.port());
    });
    return thread;
  }
}
