/** The sender, in a thread of its own: what receivers do costs the thread that serves vaults nothing. */
import { parentPort, workerData } from 'node:worker_threads';
import { egressInto } from '../access/egress.ts';
import { systemResolve } from '../egress/connections.ts';
import { type Message, type Result, senderWith } from './sender.ts';
import { gathering } from './sender-client.ts';

export interface Order {
  readonly number: number;
  readonly message: Message;
}

export interface Report {
  readonly number: number;
  readonly result: Result;
}

const port = parentPort!;
const sender = senderWith({ egress: egressInto(workerData.opened as string[]), resolve: systemResolve() });
let reports: Report[] = [];

port.on('message', (orders: readonly Order[]) => {
  for (const { number, message } of orders) {
    sender.send(message).then(result => report({ number, result }));
  }
});

/** Telling another thread costs more than most of what there is to tell, so a few go together. */
function report(one: Report): void {
  reports.push(one);
  if (reports.length > 1) return;
  setTimeout(() => {
    port.postMessage(reports);
    reports = [];
  }, gathering);
}
