/** What the sender's thread does for the one that started it. */
import type { Delivery, DeliveryResult } from './sender.ts';

export type SenderServices = {
  send: (message: Delivery) => Promise<DeliveryResult>;
};

/** Milliseconds in which messages between the two threads gather: each one costs both of them a waking up. */
export const gathering = 5;
