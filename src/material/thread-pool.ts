/**
 * Threads that do one job at a time, each from its beginning to its end, at a lower priority than those who serve.
 * Organizations take turns, and so do the keys of each. Refuses, with UNAVAILABLE: a job that finds too many waiting
 * before it. If another organization or key has more waiting than its own, one of those is refused instead.
 */
import { availableParallelism } from 'node:os';
import { parentPort, Worker } from 'node:worker_threads';
import { Failure, type FailureCode } from '../contract/errors.ts';
import { FairLine, type Lane } from '../fair-line.ts';
import { giveWay } from '../thread-priority.ts';

/** Jobs by their names; their arguments and results cross from thread to thread. */
// biome-ignore lint/suspicious/noExplicitAny: each job says what it takes
type Jobs = Readonly<Record<string, (...input: any[]) => unknown>>;

interface Order {
  readonly job: string;
  readonly input: readonly unknown[];
}

/** A failure as it goes from thread to thread. */
interface Refusal {
  readonly code: FailureCode;
  readonly message: string;
  readonly field: string;
  readonly reason: string;
  readonly cause: string;
}

type Result = { readonly output: unknown } | { readonly refusal: Refusal };

interface Task extends PromiseWithResolvers<unknown> {
  readonly order: Order;
}

export interface ThreadPoolLimits {
  readonly atOnce: number;
  readonly waiting: number;
  /** Told how many wait, whenever that changes. */
  readonly onWaiting?: ((jobs: number) => void) | undefined;
}

export interface ThreadPool {
  /** Does a job, as soon as a thread is free and it is the turn of whoever wants it. */
  take(job: string, input: readonly unknown[], lane?: Lane): Promise<unknown>;
  /** What is still being done ends without a result. */
  close(): Promise<void>;
}

/** After so many milliseconds without work a thread ends, and gives its memory back. */
const longestIdle = 30_000;
/** Whoever waits for an answer that needs no such job comes first. */
const niceness = 5;

const mostThreads = 2;
/** Where it is not said whose a job is. */
const nobody: Lane = { organization: '', key: '' };

/** So many that a core is left for those who serve. */
export function spareCores(): number {
  return Math.max(1, Math.min(mostThreads, availableParallelism() - 1));
}

/** `file`: a module that calls `carryOutOrders`. */
export function threadPool(file: URL, { atOnce, waiting, onWaiting }: ThreadPoolLimits): ThreadPool {
  const line = new FairLine<Task>();
  const busy = new Map<Worker, Task>();
  const idle = new Map<Worker, NodeJS.Timeout>();
  let isClosed = false;

  function take(job: string, input: readonly unknown[], lane = nobody): Promise<unknown> {
    const isFull = busy.size >= atOnce && line.length >= waiting;
    const displaced = isFull && !isClosed ? line.displace(lane) : undefined;
    displaced?.reject(tooMany());
    if (isClosed || (isFull && displaced === undefined)) return Promise.reject(tooMany());
    const task = { order: { job, input }, ...Promise.withResolvers<unknown>() };
    line.push(lane, task);
    next();
    onWaiting?.(line.length);
    return task.promise;
  }

  function next(): void {
    if (isClosed || line.length === 0 || busy.size >= atOnce) return;
    const thread = idle.keys().next().value ?? start();
    const task = line.shift()!;
    onWaiting?.(line.length);
    clearTimeout(idle.get(thread));
    idle.delete(thread);
    busy.set(thread, task);
    thread.ref();
    thread.postMessage(task.order);
  }

  function start(): Worker {
    const thread = new Worker(file);
    thread.on('message', (result: Result) => {
      const task = busy.get(thread)!;
      busy.delete(thread);
      rest(thread);
      if ('output' in result) task.resolve(result.output);
      else task.reject(new Failure(result.refusal.code, result.refusal));
      next();
    });
    thread.on('error', cause => lose(thread, cause));
    thread.on('exit', () => lose(thread, new Error('the thread ended')));
    return thread;
  }

  function rest(thread: Worker): void {
    thread.unref();
    idle.set(thread, setTimeout(() => thread.terminate(), longestIdle).unref());
  }

  /** A thread is gone, and with it what it was doing. */
  function lose(thread: Worker, cause: unknown): void {
    clearTimeout(idle.get(thread));
    idle.delete(thread);
    busy.get(thread)?.reject(new Failure('UNAVAILABLE', { cause, retryAfter: 1 }));
    busy.delete(thread);
    next();
  }

  return {
    take,
    close: async () => {
      isClosed = true;
      for (const { reject } of line.drain()) reject(new Failure('UNAVAILABLE', { retryAfter: 1 }));
      await Promise.all([...busy.keys(), ...idle.keys()].map(thread => thread.terminate()));
    },
  };
}

function tooMany(): Failure {
  return new Failure('UNAVAILABLE', { retryAfter: 2 });
}

/** What a thread of a pool runs. */
export function carryOutOrders(jobs: Jobs): void {
  const port = parentPort!;
  giveWay(niceness);
  port.on('message', (order: Order) => {
    carryOut(jobs, order).then(result => port.postMessage(result));
  });
}

async function carryOut(jobs: Jobs, { job, input }: Order): Promise<Result> {
  try {
    return { output: await jobs[job]!(...input) };
  } catch (error) {
    const failure = error instanceof Failure ? error : new Failure('INTERNAL_ERROR', { cause: error });
    const { code, message, field, reason } = failure;
    return { refusal: { code, message, field, reason, cause: String(failure.cause ?? '') } };
  }
}
