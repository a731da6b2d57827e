/** Whether this runtime can hand an accepted connection to another thread: tried once, with a real one. */
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { MessageChannel } from 'node:worker_threads';

const longestTrial = 2_000;

export async function canTransferSockets(): Promise<boolean> {
  const accepted = Promise.withResolvers<boolean>();
  const server = createServer({ pauseOnConnect: true }, socket => accepted.resolve(isTransferred(socket)));
  const patience = setTimeout(() => accepted.resolve(false), longestTrial);
  const client = await connectedTo(server).catch(() => null);
  const isAble = client !== null && (await accepted.promise);
  clearTimeout(patience);
  client?.destroy();
  server.close();
  return isAble;
}

function connectedTo(server: Server): Promise<Socket> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      const client = createConnection({ port, host: '127.0.0.1' });
      client.once('connect', () => resolve(client)).once('error', reject);
    });
  });
}

function isTransferred(socket: Socket): boolean {
  const { port1, port2 } = new MessageChannel();
  try {
    port1.postMessage(socket, [socket as never]);
    return true;
  } catch {
    socket.destroy();
    return false;
  } finally {
    port1.close();
    port2.close();
  }
}
