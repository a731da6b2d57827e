/**
 * A service that is called with a secret: answers with a small JSON, after a delay in milliseconds. Prints its port.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const wait = Number(process.argv[2] ?? 0);
const body = JSON.stringify({ items: Array.from({ length: 20 }, (_, id) => ({ id, title: 'An issue' })) });
const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume();
  const answer = () => response.writeHead(200, headers).end(body);
  if (wait === 0) answer();
  else setTimeout(answer, wait);
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
