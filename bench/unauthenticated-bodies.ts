/**
 * Measures the effect of unauthenticated clients on readers: the ratio of vault reads with and without ten connections
 * that post to /auth/password as fast as they can, and the memory of four hundred held bodies of 1 MiB. Exits with 1 if
 * a limit is exceeded.
 *
 *   node bench/unauthenticated-bodies.ts
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fill, load, readRequest, startServer, type Target } from './bench.ts';

const seconds = 3;
const turns = 3;
const mebibyte = 1024 * 1024;
const head = (length: number, path = '/auth/password') =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

const filled = await fill({ vaults: [20] });
const server = await startServer(filled.place);
const plan = { port: server.port, connections: 16, seconds, requests: [readRequest(filled.vaults[0]!)] };
try {
  await load(plan);
  const ratios: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const alone = await load(plan);
    const flood = floodOf(server);
    const beside = await load(plan);
    flood.stop();
    ratios.push(beside.perSecond / alone.perSecond);
  }
  const ratio = ratios.sort((a, b) => a - b)[turns >> 1]!;
  console.log(
    `reads during ten connections that post 1 MiB of JSON: ${ratio.toFixed(2)} of the rate without them`,
  );
  const more = await heldMemory(server);
  console.log(`400 held bodies of 1 MiB: ${more} MB more`);
  process.exitCode = ratio < 0.3 || more > 40 ? 1 : 0;
} finally {
  await server.stop();
  filled.remove();
}

/** Each connection sends a body again as soon as it is answered, and reconnects if it was cut off. */
function floodOf({ port }: Target): { stop(): void } {
  const body = `{"email":"${'x'.repeat(mebibyte - 20)}"}`;
  const sockets = new Set<Socket>();
  let over = false;
  const open = () => {
    if (over) return;
    const socket = connect(port, '127.0.0.1', () => socket.write(head(body.length) + body));
    sockets.add(socket);
    socket.on('data', () => socket.write(head(body.length) + body));
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      setTimeout(open, 1);
    });
  };
  for (let at = 0; at < 10; at++) open();
  return {
    stop: () => {
      over = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Sends all but the last byte of each body, as far as the service reads it. */
async function heldMemory(target: Target): Promise<number> {
  const before = target.memory();
  const bodies = Buffer.alloc(mebibyte - 1, 'x');
  const sockets = await Promise.all(
    Array.from({ length: 400 }, async (_, at) => {
      const socket = connect(target.port, '127.0.0.1');
      socket.on('error', () => {});
      await once(socket, 'connect').catch(() => {});
      socket.write(head(mebibyte, at % 2 === 0 ? '/auth/password' : '/mcp'));
      socket.write(bodies);
      return socket;
    }),
  );
  await sleep(2_000);
  const more = target.memory() - before;
  for (const socket of sockets) socket.destroy();
  return more;
}
