/**
 * The main thread's view of its readers: threads that answer what it accepts. A connection goes to the reader with the
 * fewest. If a reader ends, its connections end with it, others go on, and it is started again, later each time if it
 * keeps ending. Connections that last are spread again when one reader has much more to do than another.
 */
import type { Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { CertificatePair } from '../../http/listener/server.ts';
import type { OtherLedger } from '../../logs/ledger.ts';
import type { Sibling } from '../../store/store.ts';
import { threadFile } from '../../threads/thread.ts';
import { type Report, StartRefused, UsageError } from '../settings/report.ts';
import type { LedgerServices, ReaderData, ReaderServices } from './messages.ts';
import { Plane } from './plane.ts';

interface ReadersParts {
  readonly count: number;
  readonly report: Report;
  /** Gives a reader's link to another plane. */
  readonly connect: (plane: 'management' | 'uses', port: MessagePort) => void;
}

/** What the readers begin with. */
type DataOf = (number: number) => ReaderData;

/** In MB: more than other planes, because each has a share of the cached answers. */
const heap = 512;
const restartAfter = 500;
const longestRestart = 30_000;
/** A reader that lasted this long is not one that keeps ending. */
const lasting = 60_000;
const lookEvery = 5_000;
/** In requests since the last look. A smaller difference is not worth a new connection. */
const leastDifference = 5_000;

class Reader {
  readonly number: number;
  readonly plane: Plane<ReaderServices>;
  /** What to call when a connection of its is over. */
  readonly open = new Map<number, () => void>();
  isReady = false;
  /** Whether it has much more to do than others, and gets no connections for now. */
  isBusiest = false;
  startedAt = 0;
  failures = 0;
  requests = 0;

  constructor(number: number, { report, connect }: ReadersParts, onEnded: (reader: Reader) => void) {
    this.number = number;
    this.plane = new Plane({
      name: `reader ${number}`,
      file: threadFile(import.meta.url, 'reader-thread'),
      report,
      start: undefined,
      services: { connect, closed: (ids: readonly number[]) => this.closed(ids) },
      heap,
      onEnded: () => onEnded(this),
    });
  }

  closed(ids: Iterable<number>): void {
    for (const id of ids) {
      this.open.get(id)?.();
      this.open.delete(id);
    }
  }
}

export class Readers implements OtherLedger {
  readonly #parts: ReadersParts;
  readonly #readers: readonly Reader[];
  /** Connections that were accepted while no reader was ready. */
  readonly #waiting: (() => void)[] = [];
  #data: DataOf | null = null;
  #loads: Int32Array[] = [];
  #certificate: CertificatePair | null = null;
  #looking: NodeJS.Timeout | undefined;
  #routes: readonly string[] = [];
  #lastId = 0;
  #isStopping = false;

  constructor(parts: ReadersParts) {
    this.#parts = parts;
    this.#readers = Array.from(
      { length: parts.count },
      (_, index) => new Reader(index + 1, parts, reader => this.#ended(reader)),
    );
    for (const { plane } of this.#readers) plane.start();
  }

  get planes(): readonly Pick<Plane<ReaderServices>, 'whenEnded'>[] {
    return this.#readers.map(({ plane }) => plane);
  }

  /** They report their changes here, and need no messages about others'. */
  get siblings(): readonly Sibling[] {
    return this.#readers.map(({ plane: { sibling } }) => ({ tell: () => {}, onTold: sibling.onTold }));
  }

  /** The routes that they serve, known once they are ready. */
  get routes(): readonly string[] {
    return this.#routes;
  }

  get ready(): number {
    return this.#readers.filter(({ isReady }) => isReady).length;
  }

  get openConnections(): number {
    return this.#readers.reduce((sum, { open }) => sum + open.size, 0);
  }

  /** Resolves once all are ready. */
  async begin(data: DataOf, loads: readonly SharedArrayBuffer[]): Promise<void> {
    this.#data = data;
    await Promise.all(this.#readers.map(reader => this.#begin(reader)));
    this.#loads = loads.map(load => new Int32Array(load));
    this.#looking = setInterval(() => this.#look(), lookEvery).unref();
  }

  /** Gives a new connection to a reader. `leave` is called when it is over. */
  deal(socket: Socket, leave: () => void): void {
    const reader = this.#leastOf(this.#readers.filter(one => one.isReady));
    if (reader === undefined) this.#wait(socket, leave);
    else this.#give(reader, socket, leave);
  }

  useCertificate(pair: CertificatePair): void {
    this.#certificate = pair;
    for (const { plane } of this.#readers) plane.thread?.notify('certificate', pair);
  }

  settle = (): Promise<void> => this.#ask('settle');

  writeHourCounts = (): Promise<void> => this.#ask('writeHourCounts');

  /** Resolves once no connection is open; those that remain are cut after this many milliseconds. */
  async drain(longest: number): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#looking);
    for (const leave of this.#waiting.splice(0)) leave();
    const threads = this.#readers.flatMap(({ plane }) => plane.thread ?? []);
    const cut = setTimeout(() => {
      for (const thread of threads) thread.notify('cut');
    }, longest);
    await Promise.all(threads.map(thread => thread.call('drain').catch(() => {})));
    clearTimeout(cut);
  }

  /** Resolves once everything is recorded and the threads have ended. */
  async stop(): Promise<void> {
    await Promise.all(this.#readers.map(({ plane }) => plane.stop()));
  }

  async terminate(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#looking);
    await Promise.all(this.#readers.map(({ plane }) => plane.terminate()));
  }

  #leastOf(readers: readonly Reader[]): Reader | undefined {
    const calm = readers.filter(({ isBusiest }) => !isBusiest);
    return (calm.length > 0 ? calm : readers).reduce<Reader | undefined>(
      (least, one) => (least === undefined || one.open.size < least.open.size ? one : least),
      undefined,
    );
  }

  #give(reader: Reader, socket: Socket, leave: () => void): void {
    const id = ++this.#lastId;
    reader.open.set(id, leave);
    try {
      reader.plane.thread!.notifyMoving([socket], 'connection', socket, id);
    } catch {
      reader.closed([id]); // It was over before it could be given.
      socket.destroy();
    }
  }

  /** Until a reader is ready again. */
  #wait(socket: Socket, leave: () => void): void {
    if (this.#isStopping) {
      leave();
      socket.destroy();
      return;
    }
    this.#waiting.push(() => {
      if (this.ready > 0) this.deal(socket, leave);
      else {
        leave();
        socket.destroy();
      }
    });
  }

  async #begin(reader: Reader): Promise<void> {
    const { plane, number } = reader;
    const thread = plane.thread;
    reader.startedAt = performance.now();
    const given = this.#data!(number);
    const certificate = this.#certificate ?? given.certificate;
    const beginning =
      thread === null ? null : await plane.begin(thread, { ...given, certificate }).catch(() => null);
    if (beginning === null) throw new StartRefused(`reader ${number} ended before it was ready`);
    if ('refused' in beginning) throw new (beginning.isUsage ? UsageError : StartRefused)(beginning.refused);
    if (this.#certificate !== null && this.#certificate !== certificate)
      thread!.notify('certificate', this.#certificate); // It was replaced in the meantime.
    this.#routes = beginning.begun;
    reader.isReady = true;
    for (const deal of this.#waiting.splice(0)) deal();
  }

  #ended(reader: Reader): void {
    const wasReady = reader.isReady;
    reader.isReady = false;
    reader.closed([...reader.open.keys()]);
    // One that was never ready fails the start, or was being started again.
    if (!wasReady || this.#isStopping) return;
    reader.failures = performance.now() - reader.startedAt < lasting ? reader.failures + 1 : 0;
    this.#startLater(reader);
  }

  #startLater(reader: Reader): void {
    const wait = Math.min(restartAfter * 2 ** reader.failures, longestRestart);
    setTimeout(() => this.#startAgain(reader), wait).unref();
  }

  #startAgain(reader: Reader): void {
    if (this.#isStopping) return;
    reader.plane.start();
    this.#begin(reader).catch(async (error: Error) => {
      if (this.#isStopping) return;
      this.#parts.report(`reader ${reader.number} could not start: ${error.message}`);
      reader.failures++;
      await reader.plane.terminateThread();
      this.#startLater(reader);
    });
  }

  async #ask(what: keyof LedgerServices): Promise<void> {
    await Promise.all(
      this.#readers.map(({ plane, isReady }) =>
        // A reader leaves nothing to be filed when it ends.
        isReady ? plane.thread?.call(what).catch(error => this.#unlessEnded(plane, error)) : null,
      ),
    );
  }

  #unlessEnded(plane: Plane<ReaderServices>, error: unknown): void {
    if (plane.thread !== null) throw error;
  }

  #look(): void {
    const done = this.#readers.map((reader, index) => {
      const total = Atomics.load(this.#loads[index]!, 0);
      const since = (total - reader.requests) >>> 0;
      reader.requests = total;
      reader.isBusiest = false;
      return since;
    });
    const most = Math.max(...done);
    const busiest = this.#readers[done.indexOf(most)]!;
    if (most < 2 * Math.min(...done) + leastDifference || busiest.open.size < 2) return;
    busiest.isBusiest = true;
    busiest.plane.thread?.notify('shed');
  }
}
