/**
 * Threads that do one job at a time, each from its beginning to its end, at a lower priority than those who serve.
 * Organizations take turns, and so do the keys of each. Refuses, with UNAVAILABLE: a job that finds too many waiting
 * before it. If another organization or key has more waiting than its own, one of those is refused instead.
 */
import { availableParallelism } from 'node:os';
import { FairLine, type Lane } from '../base/fair-line.ts';
import { Failure } from '../contract/errors.ts';
import type { Services } from './channel.ts';
import { giveWay } from './priority.ts';
import { startThread, type Thread, toStarter } from './thread.ts';

interface Task extends PromiseWithResolvers<unknown> {
  readonly job: string;
  readonly input: readonly unknown[];
}

type PoolThread = Thread<Services>;

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

/** `file`: a module that calls `carryOutJobs`. */
export function threadPool(file: URL, { atOnce, waiting, onWaiting }: ThreadPoolLimits): ThreadPool {
  const line = new FairLine<Task>();
  const busy = new Set<PoolThread>();
  const idle = new Map<PoolThread, NodeJS.Timeout>();
  let isClosed = false;

  function take(job: string, input: readonly unknown[], lane = nobody): Promise<unknown> {
    const isFull = busy.size >= atOnce && line.length >= waiting;
    const displaced = isFull && !isClosed ? line.displace(lane) : undefined;
    displaced?.reject(tooMany());
    if (isClosed || (isFull && displaced === undefined)) return Promise.reject(tooMany());
    const task = { job, input, ...Promise.withResolvers<unknown>() };
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
    busy.add(thread);
    thread.hold(true);
    thread
      .call(task.job, ...task.input)
      .then(task.resolve, task.reject)
      .finally(() => free(thread));
  }

  function start(): PoolThread {
    const thread = startThread<Services>(file, {});
    void thread.ended.then(() => {
      clearTimeout(idle.get(thread));
      idle.delete(thread);
    });
    return thread;
  }

  function free(thread: PoolThread): void {
    busy.delete(thread);
    thread.hold(false);
    if (!thread.isOver) idle.set(thread, setTimeout(() => thread.terminate(), longestIdle).unref());
    next();
  }

  return {
    take,
    close: async () => {
      isClosed = true;
      for (const { reject } of line.drain()) reject(new Failure('UNAVAILABLE', { retryAfter: 1 }));
      await Promise.all([...busy, ...idle.keys()].map(thread => thread.terminate()));
    },
  };
}

function tooMany(): Failure {
  return new Failure('UNAVAILABLE', { retryAfter: 2 });
}

/** What a thread of a pool runs. */
export function carryOutJobs(jobs: Services): void {
  giveWay(niceness);
  toStarter(jobs);
}
