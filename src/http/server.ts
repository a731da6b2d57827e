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
import type { HandleVaultRead } from './vault-read.ts';

/** What we serve with, as PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

const options = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 72_000,
  connectionsCheckingInterval: 2_000,
  maxHeaderSize: 16 * 1024,
};

export function createListener(
  tls: CertificatePair | null,
  readVault: HandleVaultRead,
  route: RequestListener,
): Server {
  const listen = (request: IncomingMessage, response: ServerResponse) => {
    if (!readVault(request, response)) route(request as never, response as never);
  };
  return tls === null
    ? createServer(options, listen)
    : createTlsServer({ ...options, ...tls, minVersion: 'TLSv1.2' }, listen);
}
