/** A webhook's receiver on loopback: a real HTTP server that writes down what arrives and answers as it is told. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { atTheLatest } from './ending.ts';

export interface Arrival {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  readonly body: any;
  readonly id: string;
}

export interface Receiver {
  readonly url: string;
  readonly arrivals: Arrival[];
  /** How many connections were ever opened. */
  connections: number;
  answer: (arrival: Arrival, response: ServerResponse) => void;
  /** Waits until as many have arrived, and gives them. */
  received(count: number, patience?: number): Promise<Arrival[]>;
  close(): Promise<void>;
}

export async function startReceiver(host = '127.0.0.1', port = 0): Promise<Receiver> {
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', chunk => {
      text += chunk;
    });
    request.on('end', () => {
      const { headers, method = '', url: path = '' } = request;
      const arrival = {
        method,
        path,
        headers,
        text,
        body: JSON.parse(text),
        id: String(headers['webhook-id']),
      };
      receiver.arrivals.push(arrival);
      receiver.answer(arrival, response);
    });
  });
  server.on('connection', () => {
    receiver.connections++;
  });
  server.listen(port, host);
  await new Promise(resolve => server.once('listening', resolve));
  const receiver: Receiver = {
    url: `http://${host}:${(server.address() as AddressInfo).port}/hook`,
    arrivals: [],
    connections: 0,
    answer: (_arrival, response) => response.writeHead(204).end(),
    received: async (count, patience = 15_000) => {
      await until(
        () => receiver.arrivals.length >= count,
        patience,
        () => `${receiver.arrivals.length} arrived`,
      );
      return receiver.arrivals.slice(0, count);
    },
    close: atTheLatest(async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    }),
  };
  return receiver;
}

export async function until(
  holds: () => boolean | Promise<boolean>,
  patience = 15_000,
  otherwise: () => string = () => '',
): Promise<void> {
  const end = performance.now() + patience;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`it did not happen in time: ${otherwise()}`);
    await sleep(20);
  }
}
