/**
 * The reading plane's handle on another plane: a thread that opens the same data, and exchanges notifications of changes
 * before any request that depends on them. If the thread ends, its open calls fail and the reading plane continues.
 */
import { describe } from '../../base/described-error.ts';
import type { Sibling } from '../../store/store.ts';
import type { Services } from '../../threads/channel.ts';
import { type StartThread, startThread, type Thread } from '../../threads/thread.ts';
import type { Report } from '../settings/report.ts';
import type { PlaneData, PlaneServices, ReadingServices } from './messages.ts';

// biome-ignore lint/suspicious/noExplicitAny: each plane declares its own data and result
type AnyPlane = PlaneServices<any, any> & Services;
type DataOf<Far extends AnyPlane> = Parameters<Far['begin']>[0];
type BeginningOf<Far extends AnyPlane> = Awaited<ReturnType<Far['begin']>>;

interface PlaneOptions {
  /** The name in reports to the operator. */
  readonly name: string;
  readonly file: URL;
  readonly report: Report;
  readonly start: StartThread | undefined;
  /** Services that it may call here, in addition to those for every plane. */
  readonly services?: Services;
  /** See `ChannelOptions`. */
  readonly gather?: number;
  /** In MB; see `largestHeap`. */
  readonly heap?: number;
  readonly onEnded: () => void;
}

/** In MB. A thread that needs more has a fault: it ends, and reads continue. */
const largestHeap = 320;
/** In MB, for short-lived objects. */
const youngest = 12;

export class Plane<Far extends AnyPlane> {
  readonly #options: PlaneOptions;
  readonly #told: ((touched: readonly string[]) => void)[] = [];
  readonly #whenEnded: (() => void)[] = [];
  #failed: (address: string) => void = () => {};
  #thread: Thread<Far> | null = null;
  #isStopping = false;

  constructor(options: PlaneOptions) {
    this.#options = options;
  }

  /** For the store: notifies the other plane of changes committed here, and the other way round. */
  get sibling(): Sibling {
    return {
      tell: ids => this.#near?.notify('touched', ids),
      onTold: listener => void this.#told.push(listener),
    };
  }

  readonly tellFailed = (address: string): void => this.#near?.notify('failed', address);

  /** The listener gets the addresses whose callers failed to authenticate on the other plane. */
  onFailed(listener: (address: string) => void): void {
    this.#failed = listener;
  }

  /** The listener is called whenever the plane's thread has ended, before any of its requests is answered. */
  whenEnded(listener: () => void): void {
    this.#whenEnded.push(listener);
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** The running thread, if there is one. */
  get thread(): Thread<Far> | null {
    return this.#thread?.isOver === false ? this.#thread : null;
  }

  /** Starts a thread that loads its code and waits for `begin`. */
  start(): Thread<Far> {
    const { name, file, report, start = startThread, services, gather, heap = largestHeap } = this.#options;
    const every: ReadingServices = {
      touched: ids => {
        for (const listener of this.#told) listener(ids);
      },
      failed: address => this.#failed(address),
      report,
    };
    const thread = start<Far>(file, {
      services: { ...every, ...services },
      gather,
      largestHeap: heap,
      youngest,
      onError: error => report(`${name} failed: ${describe(error)}`),
    });
    this.#thread = thread;
    void thread.ended.then(() => {
      for (const listener of [...this.#whenEnded, this.#options.onEnded]) listener();
    });
    return thread;
  }

  begin(thread: Thread<Far>, data: DataOf<Far>): Promise<BeginningOf<Far>> {
    const { writer } = data as PlaneData;
    const beginning = asPlane(thread).callMoving(writer === null ? [] : [writer], 'begin', data);
    return beginning as Promise<BeginningOf<Far>>;
  }

  /** Resolves once the plane has finished its work and ended; after `longest` milliseconds, it is terminated. */
  async stop(longest?: number): Promise<void> {
    this.#isStopping = true;
    const thread = this.thread;
    if (thread === null) return;
    asPlane(thread).notify('stop');
    const patience =
      longest === undefined ? undefined : setTimeout(() => void thread.terminate(), longest).unref();
    await thread.ended;
    clearTimeout(patience);
  }

  /** Ends the thread without finishing work in progress. */
  async terminate(): Promise<void> {
    this.#isStopping = true;
    await this.#thread?.terminate();
  }

  /** Ends a thread that could not begin; another one may be started. */
  async terminateThread(): Promise<void> {
    await this.#thread?.terminate();
  }

  get #near(): Thread<PlaneServices<unknown, unknown>> | null {
    return this.thread as Thread<PlaneServices<unknown, unknown>> | null;
  }
}

/** The thread, typed with the services of every plane. */
function asPlane<Far extends AnyPlane>(thread: Thread<Far>): Thread<PlaneServices<unknown, unknown>> {
  return thread as unknown as Thread<PlaneServices<unknown, unknown>>;
}
