/**
 * The reading plane's hold on another plane: a thread that opens the same data, hears of what others change before
 * anything is asked of it, and is heard. What it held when it ends fails; the reading plane goes on.
 */
import { describe } from '../../base/described-error.ts';
import type { Sibling } from '../../store/store.ts';
import type { Services } from '../../threads/channel.ts';
import { type StartThread, startThread, type Thread } from '../../threads/thread.ts';
import type { Report } from '../settings/report.ts';
import type { PlaneData, PlaneServices, ReadingServices } from './messages.ts';

// biome-ignore lint/suspicious/noExplicitAny: each plane says what it begins with and what comes of that
type AnyPlane = PlaneServices<any, any> & Services;
type DataOf<Far extends AnyPlane> = Parameters<Far['begin']>[0];
type BeginningOf<Far extends AnyPlane> = Awaited<ReturnType<Far['begin']>>;

export interface PlaneOptions {
  /** As the operator reads it. */
  readonly name: string;
  readonly file: URL;
  readonly report: Report;
  readonly start: StartThread | undefined;
  /** What it may call here, besides what every plane may. */
  readonly services?: Services;
  /** See `ChannelOptions`. */
  readonly gather?: number;
  readonly onEnded: () => void;
}

/** In MB. One that needs more is in trouble: it ends, and the reads do not. */
const largestHeap = 320;
/** In MB, for what lives shortly. */
const youngest = 12;

export class Plane<Far extends AnyPlane> {
  readonly #options: PlaneOptions;
  readonly #told: ((touched: readonly string[]) => void)[] = [];
  #failed: (address: string) => void = () => {};
  #thread: Thread<Far> | null = null;
  #isStopping = false;

  constructor(options: PlaneOptions) {
    this.#options = options;
  }

  /** For the store: what is committed here is known over there, and the other way round. */
  get sibling(): Sibling {
    return {
      tell: ids => this.#near?.notify('touched', ids),
      onTold: listener => void this.#told.push(listener),
    };
  }

  readonly tellFailed = (address: string): void => this.#near?.notify('failed', address);

  /** Told of addresses whose callers failed to prove who they are over there. */
  onFailed(listener: (address: string) => void): void {
    this.#failed = listener;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Its thread, if one runs. */
  get thread(): Thread<Far> | null {
    return this.#thread?.isOver === false ? this.#thread : null;
  }

  /** A thread that loads what it needs, and waits for its beginning. */
  start(): Thread<Far> {
    const { name, file, report, start = startThread, services, gather, onEnded } = this.#options;
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
      largestHeap,
      youngest,
      onError: error => report(`${name} failed: ${describe(error)}`),
    });
    this.#thread = thread;
    void thread.ended.then(onEnded);
    return thread;
  }

  begin(thread: Thread<Far>, data: DataOf<Far>): Promise<BeginningOf<Far>> {
    const { writer } = data as PlaneData;
    const beginning = asPlane(thread).callMoving(writer === null ? [] : [writer], 'begin', data);
    return beginning as Promise<BeginningOf<Far>>;
  }

  /** Resolves once it has finished what it does, and is gone; after so many milliseconds without finishing. */
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

  /** Without finishing anything. */
  async terminate(): Promise<void> {
    this.#isStopping = true;
    await this.#thread?.terminate();
  }

  get #near(): Thread<PlaneServices<unknown, unknown>> | null {
    return this.thread as Thread<PlaneServices<unknown, unknown>> | null;
  }
}

/** What every plane does. */
function asPlane<Far extends AnyPlane>(thread: Thread<Far>): Thread<PlaneServices<unknown, unknown>> {
  return thread as unknown as Thread<PlaneServices<unknown, unknown>>;
}
