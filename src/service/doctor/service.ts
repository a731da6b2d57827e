/**
 * Queries the service at the configured address, if one is running. No credential is sent, so the certificate, which may
 * be for another name, is returned without verification.
 */
import { randomBytes, type X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { resolve } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { request as plainRequest } from '../../base/node-http.ts';
import { challengeHeader, proofHeader } from '../../http/surface/health.ts';
import { isEncrypted } from '../listener/listening.ts';
import type { ServeConfig } from '../settings/config.ts';

export interface Answering {
  readonly version: string;
  readonly status: string;
  /** Whether it reports that it is ready. */
  readonly ready: boolean;
  /** Its TLS certificate; null without TLS. */
  readonly certificate: X509Certificate | null;
  /** The challenge by which it proves its data, and its proof; null if its version has none. */
  readonly challenge: string;
  readonly proof: string | null;
}

interface Answer {
  readonly headers: IncomingMessage['headers'];
  readonly status: number;
  readonly body: string;
  readonly certificate: X509Certificate | null;
}

const patience = 10_000;
const largestAnswer = 64 * 1024;
/** Wildcard addresses, and the loopback address that reaches each of them. */
const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Null if nothing listens. Throws if the listener is not Strongroom or does not answer. */
export async function askService(config: ServeConfig): Promise<Answering | null> {
  const health = await ask(config, '/v1/health');
  if (health === null) return null;
  const { version, status } = healthIn(health);
  const challenge = randomBytes(16).toString('hex');
  const readiness = await ask(config, '/readyz', { [challengeHeader]: challenge });
  const proof = readiness?.headers[proofHeader] ?? null;
  return {
    version,
    status,
    ready: readiness?.status === 200,
    certificate: health.certificate,
    challenge,
    proof: proof && String(proof),
  };
}

export function addressOf({ host, port, socket }: ServeConfig): string {
  return socket === null ? `${host} port ${port}` : resolve(socket);
}

function healthIn({ status, body }: Answer): { version: string; status: string } {
  try {
    const read = JSON.parse(body) as { version?: unknown; status?: unknown };
    if (status === 200 && typeof read.version === 'string' && typeof read.status === 'string')
      return { version: read.version, status: read.status };
  } catch {
    // Reported below.
  }
  throw new Error('the program that listens there is not Strongroom');
}

function ask(
  config: ServeConfig,
  path: string,
  headers: Record<string, string> = {},
): Promise<Answer | null> {
  const { host, port, socket } = config;
  const where = socket === null ? { host: everywhere[host] ?? host, port } : { socketPath: resolve(socket) };
  const options = { ...where, path, headers, agent: false as const, timeout: patience };
  return new Promise((done, fail) => {
    const sent = isEncrypted(config)
      ? tlsRequest({ ...options, rejectUnauthorized: false }, take)
      : plainRequest(options, take);
    function take(response: IncomingMessage): void {
      // Read now: by the end of the answer, the connection may be closed.
      const certificate = (response.socket as TLSSocket).getPeerX509Certificate?.() ?? null;
      let body = '';
      response.setEncoding('utf8').on('data', chunk => {
        body += chunk;
        if (body.length > largestAnswer)
          sent.destroy(new Error('the program that listens there is not Strongroom'));
      });
      response.on('end', () =>
        done({ status: response.statusCode!, headers: response.headers, body, certificate }),
      );
    }
    sent.on('timeout', () => sent.destroy(new Error('the service does not answer')));
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (['ECONNREFUSED', 'ENOENT'].includes(error.code ?? '')) done(null);
      else fail(error);
    });
    sent.end();
  });
}
