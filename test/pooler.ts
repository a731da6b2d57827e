/**
 * A way to PostgreSQL with somebody in between, as a pooler by transactions is: queries pass, and what the server says
 * by itself, because a connection listens, reaches nobody. It can also change what is asked.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Pooler {
  readonly url: string;
  /** Whether notifications are lost. */
  deaf: boolean;
  close(): void;
}

const notification = 'A'.charCodeAt(0);
const headSize = 5;

export async function startPooler(
  url: string,
  options: { deaf?: boolean; change?: (asked: Buffer) => Buffer } = {},
): Promise<Pooler> {
  const { hostname, port } = new URL(url);
  const { deaf = false, change = (asked: Buffer) => asked } = options;
  const sockets = new Set<Socket>();
  const server = createServer(near => {
    const far = connect(Number(port), hostname);
    const messages = messagesOf();
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    near.on('data', (chunk: Buffer) => far.write(change(chunk)));
    near.on('close', () => far.destroy());
    far.on('data', (chunk: Buffer) => {
      for (const message of messages(chunk))
        if (!pooler.deaf || message[0] !== notification) near.write(message);
    });
    far.on('close', () => near.destroy());
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const pooler: Pooler = {
    url: url.replace(`:${port}/`, `:${(server.address() as AddressInfo).port}/`),
    deaf,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return pooler;
}

/** Whole messages of the server, each a letter, its length and so many bytes. */
function messagesOf(): (chunk: Buffer) => Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  return chunk => {
    rest = Buffer.concat([rest, chunk]);
    const whole: Buffer[] = [];
    while (rest.length >= headSize) {
      const size = 1 + rest.readUInt32BE(1);
      if (rest.length < size) break;
      whole.push(rest.subarray(0, size));
      rest = rest.subarray(size);
    }
    return whole;
  };
}
