/** Brokered calls, in a thread of their own: what other services do costs the thread that serves vaults nothing. */
import { parentPort, workerData } from 'node:worker_threads';
import { egressInto } from '../access/egress.ts';
import { batched } from './batches.ts';
import type { BrokeredCall, BrokeredResult } from './brokered-answer.ts';
import { brokerWith } from './brokered-call.ts';
import { systemResolve } from './connections.ts';

export interface Order {
  readonly number: number;
  readonly call: BrokeredCall;
}

export interface Report {
  readonly number: number;
  readonly result: BrokeredResult | null;
}

const port = parentPort!;
const broker = brokerWith({ egress: egressInto(workerData.opened as string[]), resolve: systemResolve() });

const send = batched<Report>(reports => port.postMessage(reports));

port.on('message', (orders: readonly Order[]) => {
  for (const { number, call } of orders) {
    const report = (result: BrokeredResult | null) => send({ number, result });
    broker.call(call).then(report, () => report(null));
  }
});
