/**
 * Requests over raw sockets, one connection each, whose answers are counted and not kept: a lightweight client, because
 * it shares the cores with the service.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The outcomes of the requests. */
export interface Tally {
  answered: number;
  /** With 503 or 429, and a Retry-After header. */
  refused: number;
  /** The connection ended without an answer. */
  cut: number;
}

export interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly token?: string;
  readonly body?: string;
  readonly from?: string;
}

type Outcome = keyof Tally;

/** A refused client retries sooner than it was asked to. */
const comeBackAfter = 100;
const openedPerMillisecond = 10;

export class Exchanges {
  readonly port: number;
  readonly tally: Tally = { answered: 0, refused: 0, cut: 0 };
  readonly #sockets = new Set<Socket>();
  isOver = false;

  constructor(port: number) {
    this.port = port;
  }

  stop(): void {
    this.isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  open(from = '127.0.0.1'): Socket {
    const socket = connect({ port: this.port, host: '127.0.0.1', localAddress: from });
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    return socket;
  }

  /** Resolves when the whole answer has arrived. */
  ask(asked: Asked): Promise<Outcome> {
    return new Promise(resolve => {
      const socket = this.open(asked.from);
      let outcome: Outcome = 'cut';
      socket.on('connect', () => socket.write(textOf(asked)));
      socket.once('data', (chunk: Buffer) => {
        outcome = outcomeOf(chunk.toString('latin1', 0, 2_000));
      });
      socket.on('data', () => {});
      socket.on('close', () => {
        if (!this.isOver) this.tally[outcome]++;
        resolve(outcome);
      });
    });
  }

  /** Keeps this many requests in progress until the end. */
  async keepAsking(parallel: number, next: (line: number) => Asked): Promise<void> {
    const lines = Array.from({ length: parallel }, async (_, line) => {
      while (!this.isOver) if ((await this.ask(next(line))) !== 'answered') await sleep(comeBackAfter);
    });
    await Promise.all(lines);
  }

  /** Keeps this many connections open until the end; each is reopened once it is closed. */
  keepOpen(count: number, use: (socket: Socket, at: number) => void, addresses = ['127.0.0.1']): void {
    const open = (at: number) => {
      if (this.isOver) return;
      const socket = this.open(addresses[at % addresses.length]);
      let outcome: Outcome = 'cut';
      socket.on('connect', () => use(socket, at));
      socket.once('data', () => {
        outcome = 'answered';
      });
      socket.on('close', () => {
        if (!this.isOver) this.tally[outcome]++;
        setTimeout(open, comeBackAfter, at);
      });
    };
    for (let at = 0; at < count; at++) setTimeout(open, at / openedPerMillisecond, at);
  }
}

function outcomeOf(head: string): Outcome {
  const isRefusal = /^HTTP\/1\.1 (503|429)/.test(head) && /\r\nretry-after:/i.test(head);
  return isRefusal ? 'refused' : 'answered';
}

export function textOf({ method, path, token, body }: Asked): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost', 'Connection: close'];
  if (token !== undefined) lines.push(`Authorization: Bearer ${token}`);
  if (body !== undefined)
    lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}
