/**
 * A pooler by transactions, as strict as they come: it takes no parameter that it does not know, tells its clients a process
 * number that it made up, gives each transaction the next free connection to the server, keeps no prepared statements for
 * anyone, and loses what the server says to a connection that nobody has at the time.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import pg from 'pg';
import { isEncryptionRequest, messagesOf } from './wire.ts';

export interface Pooler {
  readonly url: string;
  /** Whether it answers nobody, and lets every connection be. */
  silent: boolean;
  close(): Promise<void>;
}

const connections = 6;
const tracked = ['user', 'database', 'application_name', 'client_encoding', 'DateStyle', 'TimeZone'];
const letter = (text: string) => text.charCodeAt(0);
const [ready, terminate] = [letter('Z'), letter('X')];

/** A connection to the server, and who has it. */
interface Far {
  readonly socket: Socket;
  near: Near | null;
}

interface Near {
  readonly socket: Socket;
  far: Far | null;
  /** What it asked while all were taken. */
  waiting: Buffer[];
}

export async function startPooler(url: string): Promise<Pooler> {
  const { port } = new URL(url);
  const free: Far[] = [];
  const all = new Set<Far>();
  const nears = new Set<Near>();
  let closed = false;

  const add = async () => {
    const client = new pg.Client(url);
    client.on('error', () => {});
    await client.connect();
    const { stream: socket } = (client as unknown as { connection: { stream: Socket } }).connection;
    socket.removeAllListeners('data'); // From here on the messages are ours.
    const far: Far = { socket, near: null };
    const messages = messagesOf();
    socket.on('data', (chunk: Buffer) => {
      for (const message of messages(chunk)) answer(far, message);
    });
    socket.on('close', () => {
      all.delete(far);
      if (free.includes(far)) free.splice(free.indexOf(far), 1);
      far.near?.socket.destroy();
      if (!closed) void add().catch(() => {});
    });
    all.add(far);
    free.push(far);
    serveNext();
  };

  function answer(far: Far, message: Buffer): void {
    const { near } = far;
    if (near !== null && !pooler.silent) near.socket.write(message);
    if (near === null || message[0] !== ready || message[5] !== letter('I')) return;
    far.near = near.far = null;
    free.push(far);
    serveNext();
  }

  function serveNext(): void {
    for (const near of nears) if (near.waiting.length > 0) ask(near);
  }

  /** The one that was free for longest, so that the same one hardly ever comes twice. */
  function ask(near: Near): void {
    near.far ??= free.shift() ?? null;
    if (near.far === null) return;
    near.far.near = near;
    near.far.socket.write(Buffer.concat(near.waiting.splice(0)));
  }

  const server = createServer({ noDelay: true }, socket => {
    const near: Near = { socket, far: null, waiting: [] };
    nears.add(near);
    const messages = messagesOf();
    let isWelcome = false;
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      if (isWelcome) {
        const asked = messages(chunk).filter(message => message[0] !== terminate);
        near.waiting.push(...asked);
        if (asked.length > 0) ask(near);
      } else if (isEncryptionRequest(chunk)) socket.write('N');
      else {
        isWelcome = true;
        welcome(socket, chunk);
      }
    });
    socket.on('close', () => {
      nears.delete(near);
      near.far?.socket.destroy(); // Whatever it had begun is undone.
    });
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const pooler: Pooler = {
    url: url
      .replace(`:${port}/`, `:${(server.address() as AddressInfo).port}/`)
      .replace(/connect_timeout=\d+/, 'connect_timeout=5'),
    silent: false,
    close: async () => {
      closed = true;
      for (const { socket } of [...nears, ...all]) socket.destroy();
      await new Promise(resolve => server.close(resolve));
    },
  };
  for (let count = 0; count < connections; count++) await add();
  return pooler;
}

function welcome(socket: Socket, startup: Buffer): void {
  const words = startup.toString('utf8', 8).split('\0');
  const names = words.filter((word, index) => index % 2 === 0 && word !== '');
  const strange = names.find(name => !tracked.includes(name));
  if (strange !== undefined) {
    socket.end(message('E', `SFATAL\0C08P01\0Munsupported startup parameter: ${strange}\0\0`));
    return;
  }
  const key = Buffer.alloc(8);
  key.writeUInt32BE(Math.floor(Math.random() * 2 ** 31), 0);
  socket.write(Buffer.concat([message('R', Buffer.alloc(4)), message('K', key), message('Z', 'I')]));
}

function message(type: string, content: string | Buffer): Buffer {
  const body = Buffer.from(content as string);
  const head = Buffer.alloc(5);
  head[0] = letter(type);
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
