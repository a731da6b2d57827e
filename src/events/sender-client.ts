/**
 * The client of the sender's thread. The thread starts with the first message. If it dies, its messages count as failed
 * attempts, and the next message starts another.
 */
import { startThread, ThreadOnDemand, threadFile } from '../threads/thread.ts';
import type { Delivery, DeliveryResult } from './sender.ts';

/** The services of the thread. */
export type SenderServices = {
  send: (message: Delivery) => Promise<DeliveryResult>;
};

/** How long messages between the two threads are gathered, in milliseconds, because each wakes the other thread. */
export const gathering = 5;
const file = threadFile(import.meta.url, 'sender-thread');
const lost: DeliveryResult = {
  status: null,
  durationMs: 0,
  answer: '',
  error: 'the sender failed',
  retryAfter: null,
};

export type SenderClient = ReturnType<typeof senderClientInto>;

export function senderClientInto(opened: readonly string[]) {
  const thread = new ThreadOnDemand(() =>
    startThread<SenderServices>(file, { data: opened, gather: gathering }),
  );
  let isClosed = false;
  return {
    send: (message: Delivery): Promise<DeliveryResult> =>
      thread
        .get()
        .call('send', message)
        .catch(() => (isClosed ? new Promise<DeliveryResult>(() => {}) : lost)),

    /** Messages in progress end without a result. */
    close: async () => {
      isClosed = true;
      await thread.running?.terminate();
    },
  };
}
