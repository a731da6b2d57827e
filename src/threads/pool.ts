/**
 * A pool of threads, each of which does one job at a time, at a lower priority than the threads that serve requests.
 * Organizations take turns, and so do the keys of each. When too many jobs are waiting, a job is refused with
 * UNAVAILABLE: the new one, or, if another organization or key has more jobs waiting, one of those.
 */
import { availableParallelism } from 'node:os';
import { FairLine, type Lane } from '../base/fair-line.ts';
import { Failure } from '../contract/errors.ts';
import type { Services } from './channel.ts';
import { giveWay, startThread, type Thread, toStarter } from './thread.ts';

interface Task extends PromiseWithResolvers<unknown> {
  readonly job: string;
  readonly input: readonly unknown[];
}

type PoolThread = Thread<Services>;

export interface ThreadPoolLimits {
  readonly atOnce: number;
  readonly waiting: number;
  /** Called with the number of waiting jobs when it changes. */
  readonly onWaiting?: ((jobs: number) => void) | undefined;
}

/** In milliseconds. A thread that is idle for longer ends, to free its memory. */
const longestIdle = 30_000;
/** Requests that don't need such a job take precedence. */
const niceness = 5;

const mostThreads = 2;
/** The lane of jobs for which none is given. */
const nobody: Lane = { organization: '', key: '' };

/** Leaves one core for the threads that serve requests. */
export function spareCores(): number {
  return Math.max(1, Math.min(mostThreads, availableParallelism() - 1));
}

/** `file` must be a module that calls `carryOutJobs`. */
export function threadPool(file: URL, { atOnce, waiting, onWaiting }: ThreadPoolLimits) {
  const line = new FairLine<Task>();
  const busy = new Set<PoolThread>();
  const idle = new Map<PoolThread, NodeJS.Timeout>();
  let isClosed = false;

  /** Runs a job as soon as a thread is free and it is this lane's turn. */
  function take(job: string, input: readonly unknown[], lane = nobody): Promise<unknown> {
    if (isClosed) return Promise.reject(tooMany());
    const isFull = busy.size >= atOnce && line.length >= waiting;
    const displaced = isFull ? line.displace(lane) : undefined;
    displaced?.reject(tooMany());
    if (isFull && displaced === undefined) return Promise.reject(tooMany());
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
    /** Ends all threads. Jobs that have not finished fail. */
    close: async (): Promise<void> => {
      isClosed = true;
      for (const { reject } of line.drain()) reject(new Failure('UNAVAILABLE', { retryAfter: 1 }));
      await Promise.all([...busy, ...idle.keys()].map(thread => thread.terminate()));
    },
  };
}

function tooMany(): Failure {
  return new Failure('UNAVAILABLE', { retryAfter: 2 });
}

/** Entry point of a pool's thread. */
export function carryOutJobs(jobs: Services): void {
  giveWay(niceness);
  toStarter(jobs);
}
