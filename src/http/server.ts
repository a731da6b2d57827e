/**
 * The listener under the application. The vault read is what the product exists for, so it is answered ahead
 * of the router; everything else goes to the router. Whoever sends slowly or too much is cut off here.
 */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';

/** False where the request is for someone else. */
export type HandleVaultRead = (request: IncomingMessage, response: ServerResponse) => boolean;

/** What we serve with, as PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** How long a sender may take, in milliseconds. */
export interface Timeouts {
  /** Until the headers are here. */
  readonly headers: number;
  /** Until the whole request is here. */
  readonly request: number;
  /** Without a byte in either direction. */
  readonly silence: number;
  /** How often the first two are looked after. */
  readonly checkEvery: number;
}

export interface ListenerParts {
  readonly tls: CertificatePair | null;
  readonly timeouts?: Timeouts;
}

const patience: Timeouts = { headers: 10_000, request: 30_000, silence: 120_000, checkEvery: 2_000 };
const mostConnections = 10_000;

export function createListener(
  { tls, timeouts = patience }: ListenerParts,
  readVault: HandleVaultRead,
  route: RequestListener,
): Server {
  const listen = (request: IncomingMessage, response: ServerResponse) => {
    if (readVault(request, response)) return;
    // Without a body there is nothing to parse, and no end of it to wait for.
    if (request.readableEnded) delete request.headers['content-type'];
    route(request as never, response as never);
  };
  const options = {
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.request,
    connectionsCheckingInterval: timeouts.checkEvery,
    keepAliveTimeout: 72_000,
    maxHeaderSize: 16 * 1024,
    optimizeEmptyRequests: true, // A read has no body, and costs less without a stream for it.
  };
  const encrypted = {
    ...options,
    ...tls,
    handshakeTimeout: timeouts.headers,
    minVersion: 'TLSv1.2' as const,
  };
  const server = tls === null ? createServer(options, listen) : createTlsServer(encrypted, listen);
  server.setTimeout(timeouts.silence);
  server.maxConnections = mostConnections;
  return server;
}
