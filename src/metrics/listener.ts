/**
 * Serves `/metrics` on a separate listener. It has no authentication: access is limited by who can reach the listener.
 */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { contentType } from './exposition.ts';

/** An import by name would load more (`base/node-http.ts`). */
const { createServer } = process.getBuiltinModule('node:http');

const mostConnections = 32;
const longestRequest = 10_000;

export async function listenForScrapes(
  { host, port }: { readonly host: string; readonly port: number },
  scrape: () => Promise<string>,
) {
  const server = createServer({ requestTimeout: longestRequest }, async (request, response) => {
    const isAsked = request.url!.split('?')[0] === '/metrics';
    if (!isAsked || !/^(GET|HEAD)$/.test(request.method!)) {
      response.writeHead(isAsked ? 405 : 404).end();
      return;
    }
    const text = await scrape().catch(() => null);
    if (text === null) response.writeHead(503).end();
    else response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' }).end(text);
  });
  server.maxConnections = mostConnections;
  server.listen(port, host);
  await once(server, 'listening');
  return { url: urlOf(server, host), close: () => closed(server) };
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/metrics`;
}

async function closed(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close').catch(() => {});
}
