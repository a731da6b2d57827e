/** Brokered calls, in a thread of their own: what other services do costs the thread that serves vaults nothing. */
import { parentPort, workerData } from 'node:worker_threads';
import { egressInto } from '../access/egress.ts';
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

port.on('message', ({ number, call }: Order) => {
  const report = (result: BrokeredResult | null) => port.postMessage({ number, result } satisfies Report);
  broker.call(call).then(report, () => report(null));
});
