/**
 * The near side of the thread that makes brokered calls. The thread starts with the first call; one that dies fails
 * what it held, and the next call starts another.
 */
import { Worker } from 'node:worker_threads';
import { batched } from './batches.ts';
import type { Order, Report } from './broker-thread.ts';
import { type BrokeredResult, nothing } from './brokered-answer.ts';
import type { Broker } from './brokered-call.ts';

const threadFile = import.meta.url.endsWith('.ts') ? './broker-thread.ts' : './broker-thread.js';
const lost: BrokeredResult = { ...nothing, outcome: 'failed', reason: 'the call could not be made' };

export function brokerInto(opened: readonly string[]): Broker {
  const waiting = new Map<number, (result: BrokeredResult) => void>();
  let thread: Worker | null = null;
  let last = 0;
  // A group of log entries lets many calls go at once. What was given up meanwhile is not made.
  const send = batched<Order>(orders => {
    const wanted = orders.filter(({ number }) => waiting.has(number));
    if (wanted.length === 0) return;
    thread ??= start();
    thread.postMessage(wanted);
  });

  function start(): Worker {
    const worker = new Worker(new URL(threadFile, import.meta.url), { workerData: { opened } });
    worker.on('message', (reports: readonly Report[]) => {
      for (const { number, result } of reports) settle(number, result ?? lost);
    });
    worker.on('error', () => {});
    worker.on('exit', () => {
      if (thread !== worker) return;
      thread = null;
      for (const number of [...waiting.keys()]) settle(number, lost);
    });
    return worker;
  }

  function settle(number: number, result: BrokeredResult): void {
    waiting.get(number)?.(result);
    waiting.delete(number);
  }

  return {
    call: call =>
      new Promise(resolve => {
        const number = ++last;
        waiting.set(number, resolve);
        send({ number, call });
      }),

    close: async () => {
      const worker = thread;
      thread = null;
      for (const number of [...waiting.keys()]) settle(number, lost);
      await worker?.terminate();
    },
  };
}
