/**
 * The near side of the sender's thread. The thread starts with the first message; one that dies fails what it
 * held, as an attempt that did not arrive, and the next message starts another.
 */
import { Worker } from 'node:worker_threads';
import type { Message, Result } from './sender.ts';
import type { Order, Report } from './sender-thread.ts';

export interface SenderClient {
  send(message: Message): Promise<Result>;
  /** What is still under way ends without a result. */
  close(): Promise<void>;
}

/** Milliseconds in which messages between the two threads gather: each one costs both of them a waking up. */
export const gathering = 5;
const threadFile = import.meta.url.endsWith('.ts') ? './sender-thread.ts' : './sender-thread.js';
const lost: Result = {
  status: null,
  durationMs: 0,
  answer: '',
  error: 'the sender failed',
  retryAfter: null,
};

export function senderClientInto(opened: readonly string[]): SenderClient {
  const waiting = new Map<number, (result: Result) => void>();
  let thread: Worker | null = null;
  let orders: Order[] = [];
  let last = 0;

  function start(): Worker {
    const worker = new Worker(new URL(threadFile, import.meta.url), { workerData: { opened } });
    worker.on('message', (reports: readonly Report[]) => {
      for (const { number, result } of reports) settle(number, result);
    });
    worker.on('error', () => {});
    worker.on('exit', () => {
      if (thread !== worker) return;
      thread = null;
      for (const number of [...waiting.keys()]) settle(number, lost);
    });
    return worker;
  }

  function settle(number: number, result: Result): void {
    waiting.get(number)?.(result);
    waiting.delete(number);
  }

  /** What was ordered since the last time goes over as one message. */
  function dispatch(): void {
    thread ??= start();
    thread.postMessage(orders);
    orders = [];
  }

  return {
    send: message =>
      new Promise(resolve => {
        const number = ++last;
        waiting.set(number, resolve);
        orders.push({ number, message });
        if (orders.length === 1) setTimeout(dispatch, gathering);
      }),

    close: async () => {
      const worker = thread;
      thread = null;
      waiting.clear();
      await worker?.terminate();
    },
  };
}
