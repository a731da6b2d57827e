/**
 * The client of the sender's thread. The thread starts with the first message. If it dies, its messages count as failed
 * attempts, and the next message starts another.
 */
import { startThread, ThreadOnDemand, threadFile } from '../threads/thread.ts';
import type { Delivery, DeliveryResult } from './sender.ts';
import { gathering, type SenderServices } from './sender-services.ts';

export interface SenderClient {
  send(message: Delivery): Promise<DeliveryResult>;
  /** Messages in progress end without a result. */
  close(): Promise<void>;
}

const file = threadFile(import.meta.url, 'sender-thread');
const lost: DeliveryResult = {
  status: null,
  durationMs: 0,
  answer: '',
  error: 'the sender failed',
  retryAfter: null,
};

export function senderClientInto(opened: readonly string[]): SenderClient {
  const thread = new ThreadOnDemand(() =>
    startThread<SenderServices>(file, { data: opened, gather: gathering }),
  );
  let isClosed = false;
  return {
    send: message =>
      thread
        .get()
        .call('send', message)
        .catch(() => (isClosed ? new Promise<DeliveryResult>(() => {}) : lost)),

    close: async () => {
      isClosed = true;
      await thread.running?.terminate();
    },
  };
}
