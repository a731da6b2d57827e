/** Threads: how one is started, bounded and ended, and how it reaches the one that started it. */
import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import { Channel, type ChannelOptions, type Port, type Services } from './channel.ts';

export interface ThreadOptions extends ChannelOptions {
  /** What it begins with; it takes this by `threadData`. */
  readonly data?: unknown;
  /** What it may call here. */
  readonly services?: Services;
  /** In MB. A thread that needs more ends, and the process does not. */
  readonly largestHeap?: number;
  /** In MB, for what lives shortly. */
  readonly youngest?: number;
  readonly onError?: (error: unknown) => void;
}

export interface Thread<Far extends Services> extends Channel<Far> {
  /** Resolves when it is gone, for whatever reason; what it was asked has failed by then. */
  readonly ended: Promise<void>;
  /** Without finishing anything. */
  terminate(): Promise<void>;
  /** Whether it keeps the process alive. */
  hold(isHeld: boolean): void;
}

export type StartThread = <Far extends Services>(file: URL, options: ThreadOptions) => Thread<Far>;

/** A module that runs in a thread of its own: `name` beside the module at `url`, in the sources and in the package. */
export function threadFile(url: string, name: string): URL {
  return new URL(`./${name}${url.endsWith('.ts') ? '.ts' : '.js'}`, url);
}

export const startThread: StartThread = <Far extends Services>(file: URL, options: ThreadOptions) => {
  const { data, largestHeap, youngest, onError = () => {} } = options;
  const worker = new Worker(file, {
    workerData: data,
    resourceLimits: {
      ...(largestHeap === undefined ? {} : { maxOldGenerationSizeMb: largestHeap }),
      ...(youngest === undefined ? {} : { maxYoungGenerationSizeMb: youngest }),
    },
  });
  let failure: unknown;
  worker.on('error', error => {
    failure = error;
    onError(error);
  });
  const ended = new Promise<void>(resolve => worker.once('exit', () => resolve()));
  return threadOver<Far>(worker as Port, options, {
    ended,
    whyEnded: () => failure,
    terminate: async () => void (await worker.terminate()),
    hold: isHeld => (isHeld ? worker.ref() : worker.unref()),
  });
};

interface Hold {
  readonly ended: Promise<void>;
  readonly whyEnded: () => unknown;
  readonly terminate: () => Promise<void>;
  readonly hold: (isHeld: boolean) => void;
}

/** A thread, or what takes the place of one. */
export function threadOver<Far extends Services>(
  port: Port,
  options: ThreadOptions,
  hold: Hold,
): Thread<Far> {
  const channel = new Channel<Far>(port, options.services ?? {}, options);
  const ended = hold.ended.then(() => channel.end(hold.whyEnded()));
  return Object.assign(channel, { ended, terminate: hold.terminate, hold: hold.hold });
}

/** A thread that starts when it is first needed. Where it ends, what it held fails, and the next call starts another. */
export class ThreadOnDemand<Far extends Services> {
  readonly #start: () => Thread<Far>;
  #thread: Thread<Far> | null = null;

  constructor(start: () => Thread<Far>) {
    this.#start = start;
  }

  /** The one that runs, if one does. */
  get running(): Thread<Far> | null {
    return this.#thread?.isOver === false ? this.#thread : null;
  }

  get(): Thread<Far> {
    this.#thread = this.running ?? this.#start();
    return this.#thread;
  }
}

/** In a thread: its way to the one that started it. */
export function toStarter<Near extends Services>(
  services: Services,
  options?: ChannelOptions,
): Channel<Near> {
  return new Channel<Near>(starterPort() as Port, services, options);
}

export function starterPort(): MessagePort {
  return parentPort!;
}

/** In a thread: what it was started with. */
export function threadData<T>(): T {
  return workerData as T;
}
