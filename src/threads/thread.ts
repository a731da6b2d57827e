/** Starts, limits and ends threads, and connects a thread to the one that started it. */
import { setPriority } from 'node:os';
import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import { Channel, type ChannelOptions, type Port, type Services } from './channel.ts';

export interface ThreadOptions extends ChannelOptions {
  /** Passed to the thread, which reads it with `threadData`. */
  readonly data?: unknown;
  /** Functions that the thread may call here. */
  readonly services?: Services;
  /** In MB. A thread that exceeds it ends, without ending the process. */
  readonly largestHeap?: number;
  /** In MB, for short-lived objects. */
  readonly youngest?: number;
  readonly onError?: (error: unknown) => void;
}

export interface Thread<Far extends Services> extends Channel<Far> {
  /** Resolves when the thread has ended, for whatever reason. Its pending calls have failed by then. */
  readonly ended: Promise<void>;
  /** Ends the thread without finishing its work. */
  terminate(): Promise<void>;
  /** Whether it keeps the process alive. */
  hold(isHeld: boolean): void;
}

export type StartThread = <Far extends Services>(file: URL, options: ThreadOptions) => Thread<Far>;

/**
 * Locates a module that runs as a thread: `name` next to the module at `url`, both in the sources and in the package.
 */
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

type Hold = Pick<Thread<Services>, 'ended' | 'terminate' | 'hold'> & { readonly whyEnded: () => unknown };

/** Wraps a worker, or a stand-in for one, as a thread. */
export function threadOver<Far extends Services>(
  port: Port,
  options: ThreadOptions,
  hold: Hold,
): Thread<Far> {
  const channel = new Channel<Far>(port, options.services ?? {}, options);
  const ended = hold.ended.then(() => channel.end(hold.whyEnded()));
  return Object.assign(channel, { ended, terminate: hold.terminate, hold: hold.hold });
}

/** A channel to a thread that another thread has started, through a port. It ends when either side closes it. */
export function linkOver<Far extends Services>(port: MessagePort, options: ThreadOptions): Thread<Far> {
  const ended = new Promise<void>(resolve => port.once('close', () => resolve()));
  const terminate = async () => {
    port.close();
    await ended;
  };
  const hold = (isHeld: boolean) => (isHeld ? port.ref() : port.unref());
  return threadOver<Far>(port as Port, options, { ended, whyEnded: () => undefined, terminate, hold });
}

/** A thread that is started when first needed. If it ends, its pending calls fail, and the next call starts another. */
export class ThreadOnDemand<Far extends Services> {
  readonly #start: () => Thread<Far>;
  #thread: Thread<Far> | null = null;

  constructor(start: () => Thread<Far>) {
    this.#start = start;
  }

  /** The running thread, or null. */
  get running(): Thread<Far> | null {
    return this.#thread?.isOver === false ? this.#thread : null;
  }

  get(): Thread<Far> {
    this.#thread = this.running ?? this.#start();
    return this.#thread;
  }
}

/** Called in a thread: returns its channel to the thread that started it. */
export function toStarter<Near extends Services>(services: Services, options?: ChannelOptions) {
  return new Channel<Near>(starterPort() as Port, services, options);
}

export function starterPort(): MessagePort {
  return parentPort!;
}

/** Called in a thread: returns the data that it was started with. */
export function threadData<T>(): T {
  return workerData as T;
}

/**
 * Lets other threads of the process run first when all cores are busy. Applies to the calling thread and the threads
 * that it starts. Only Linux has priorities per thread.
 */
export function giveWay(niceness: number): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, niceness);
  } catch {
    // A sandbox that forbids this only affects priorities.
  }
}
