/**
 * A way to PostgreSQL with somebody in between who can lose what the server says by itself, because a connection
 * listens, and can change what is asked.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Wire {
  readonly url: string;
  /** Whether notifications are lost. */
  deaf: boolean;
  close(): void;
}

const notification = 'A'.charCodeAt(0);
const headSize = 5;

export async function startWire(
  url: string,
  options: { deaf?: boolean; change?: (asked: Buffer) => Buffer } = {},
): Promise<Wire> {
  const { hostname, port } = new URL(url);
  const { deaf = false, change = (asked: Buffer) => asked } = options;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, near => {
    const far = connect({ port: Number(port), host: hostname, noDelay: true });
    const messages = messagesOf();
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    near.on('data', (chunk: Buffer) =>
      isEncryptionRequest(chunk) ? near.write('N') : far.write(change(chunk)),
    );
    near.on('close', () => far.destroy());
    far.on('data', (chunk: Buffer) => {
      for (const message of messages(chunk))
        if (!wire.deaf || message[0] !== notification) near.write(message);
    });
    far.on('close', () => near.destroy());
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const wire: Wire = {
    url: url
      .replace(`:${port}/`, `:${(server.address() as AddressInfo).port}/`)
      .replace(/connect_timeout=\d+/, 'connect_timeout=5'),
    deaf,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return wire;
}

/** It is answered here: what is encrypted can't be looked into. */
export function isEncryptionRequest(chunk: Buffer): boolean {
  return chunk.length === 8 && chunk.readUInt32BE(4) === 80_877_103;
}

/** Whole messages, each a letter, its length and so many bytes. */
export function messagesOf(): (chunk: Buffer) => Buffer[] {
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
