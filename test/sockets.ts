/** Connections whose every byte the test chooses: what is sent, when, and what comes back before the rest is sent. */
import { connect, type Socket } from 'node:net';

export interface Held {
  readonly socket: Socket;
  /** All that came so far. */
  received(): string;
  /** Resolves once what came matches, or the other side closed. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with all that came once the other side closed. */
  closed(): Promise<string>;
  end(): Promise<void>;
}

/** From another address of this machine, where one is given. */
export function hold(url: string, text: string | Buffer, localAddress?: string): Held {
  const { hostname, port } = new URL(url);
  const from = localAddress === undefined ? {} : { localAddress };
  const socket = connect({ port: Number(port), host: hostname.replace(/^\[|\]$/g, ''), ...from });
  let received = '';
  let isClosed = false;
  let heard = () => {};
  let change = new Promise<void>(resolve => {
    heard = resolve;
  });
  const tell = () => {
    const before = heard;
    change = new Promise<void>(resolve => {
      heard = resolve;
    });
    before();
  };
  socket.on('data', chunk => {
    received += chunk;
    tell();
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    isClosed = true;
    tell();
  });
  socket.write(text);
  const when = async (holds: () => boolean) => {
    while (!holds() && !isClosed) await change;
    return received;
  };
  return {
    socket,
    received: () => received,
    until: pattern => when(() => pattern.test(received)),
    closed: () => when(() => false),
    end: async () => {
      if (isClosed) return;
      socket.destroy();
      await when(() => false);
    },
  };
}

/** The head of a request, and as much of its body as is given. */
export function post(path: string, headers: Readonly<Record<string, string>>, body = ''): string {
  const lines = Object.entries({ host: 'localhost', 'content-type': 'application/json', ...headers });
  return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

export function statusIn(received: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? 0);
}

/** One that the service has begun to read: a probe goes ahead in the same write, and was answered. */
export async function holdInFlight(url: string, text: string): Promise<{ held: Held; answer(): string }> {
  const held = hold(url, `GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n${text}`);
  const probed = await held.until(/\r\n\r\n\{.*\}/s);
  return { held, answer: () => held.received().slice(probed.length) };
}

/** Whether a new connection is refused. */
export async function isTurnedAway(url: string): Promise<boolean> {
  const other = hold(url, 'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  return (await other.closed()) === '';
}
