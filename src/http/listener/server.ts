/**
 * The listener under the application. Clients that send too slowly or too much, or open too many connections, are cut
 * off here. An `Expect` header is not answered here but by the code that reads the body, once the credential is checked.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { createServer } from '../../base/node-http.ts';
import { networkOf } from '../../domain/kernel/minute-counter.ts';
import type { PeerOf } from './request.ts';

export interface ConnectionError {
  readonly code?: string | undefined;
  /** The packet that the parser was reading, for errors of the parser. */
  readonly rawPacket?: Buffer | undefined;
  readonly bytesParsed?: number | undefined;
}

export type AnswerClientError = (error: ConnectionError, socket: Socket) => void;

/** False if the request is for another handler. */
export type HandleRequest = (request: IncomingMessage, response: ServerResponse) => boolean;

/** The TLS certificate and key, as PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/** How long a sender may take, in milliseconds. */
export interface Timeouts {
  /** Until all headers have arrived. */
  readonly headers: number;
  /** Until the whole request has arrived. */
  readonly request: number;
  /** Until the whole body has arrived from a client without a valid credential. */
  readonly stranger: number;
  /** Without a byte in either direction. */
  readonly silence: number;
  /** How often the first two are checked. */
  readonly checkEvery: number;
}

/** Who may connect, and with how many connections. */
export interface Connections {
  readonly peerOf: PeerOf;
  /** Whether the peer may use this listener at all. */
  readonly admits: (address: string) => boolean;
  /** Whether the peer acts for many clients, so that its connections are not counted. */
  readonly isProxy: (address: string) => boolean;
  readonly mostPerAddress: number;
}

export interface ListenerParts {
  readonly tls: CertificatePair | null;
  /** Whether clients are asked for a certificate. It is optional, and verified by the code that uses it. */
  readonly clientCertificates?: boolean;
  readonly connections: Connections;
  readonly timeouts?: Timeouts | undefined;
  /** Wraps the listener, for example to trace every request. */
  readonly around?: ((listen: RequestListener) => RequestListener) | undefined;
}

export const defaultTimeouts: Timeouts = {
  headers: 10_000,
  request: 30_000,
  stranger: 5_000,
  silence: 120_000,
  checkEvery: 2_000,
};
export const mostConnections = 10_000;
/** In bytes: the limit for all headers of a request together. */
export const largestHead = 16 * 1024;

export function createListener(
  { tls, clientCertificates, connections, timeouts = defaultTimeouts }: ListenerParts,
  listen: RequestListener,
): Server {
  const options = {
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.request,
    connectionsCheckingInterval: timeouts.checkEvery,
    keepAliveTimeout: 72_000,
    maxHeaderSize: largestHead,
    optimizeEmptyRequests: true, // A read has no body, and is cheaper without a stream for it.
  };
  const encrypted = {
    ...options,
    ...tls,
    handshakeTimeout: timeouts.headers,
    minVersion: 'TLSv1.2' as const,
    requestCert: Boolean(clientCertificates),
    rejectUnauthorized: false,
  };
  const server = tls === null ? createServer(options, listen) : createTlsServer(encrypted, listen);
  server.setTimeout(timeouts.silence);
  server.maxConnections = mostConnections;
  server.on('connection', boundConnections(connections));
  // By default, Node answers these itself, before we have seen the request.
  server.on('checkContinue', listen);
  server.on('checkExpectation', listen);
  return server;
}

function boundConnections(connections: Connections) {
  const admit = admissionWith(connections);
  return (socket: Socket) => {
    const leave = admit(socket);
    if (leave === null) socket.destroy();
    else socket.once('close', leave);
  };
}

/**
 * Limits the connections per address; for IPv6, a whole network counts as one address. Returns what to call when the
 * connection is over, or null if it is refused.
 */
export function admissionWith({ peerOf, admits, isProxy, mostPerAddress }: Connections) {
  const open = new Map<string, number>();
  return (socket: Socket): (() => void) | null => {
    const peer = peerOf(socket);
    if (!admits(peer)) return null;
    if (isProxy(peer)) return () => {};
    const network = networkOf(peer);
    const before = open.get(network) ?? 0;
    if (before >= mostPerAddress) return null;
    open.set(network, before + 1);
    return () => {
      const left = open.get(network)! - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    };
  };
}
