/** The services of the sender's thread. */
import type { Delivery, DeliveryResult } from './sender.ts';

export type SenderServices = {
  send: (message: Delivery) => Promise<DeliveryResult>;
};

/** How long messages between the two threads are gathered, in milliseconds, because each wakes the other thread. */
export const gathering = 5;
