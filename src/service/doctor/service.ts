/**
 * Asks the service that runs where the flags say, if one does. No credential is sent, so the certificate, which may be
 * for another name than the one that is asked by, is looked at and not judged here.
 */
import { randomBytes, type X509Certificate } from 'node:crypto';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { resolve } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { challengeHeader, proofHeader } from '../../http/surface/health.ts';
import { isEncrypted } from '../listener/listening.ts';
import type { ServeConfig } from '../settings/config.ts';

export interface Answering {
  readonly version: string;
  readonly status: string;
  /** Whether it can do its work, as it says itself. */
  readonly ready: boolean;
  /** What it serves with; null without TLS. */
  readonly certificate: X509Certificate | null;
  /** What it was asked to prove its data by, and what it answered; null for a version that can't. */
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
/** What stands for every address of the machine, and how to reach it from here. */
const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Null where nobody listens. Throws where somebody does, and is no Strongroom or does not answer. */
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
    // Told of below.
  }
  throw new Error('what listens there is not this service');
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
      // Before the end: by then the connection may be closed.
      const certificate = (response.socket as TLSSocket).getPeerX509Certificate?.() ?? null;
      let body = '';
      response.setEncoding('utf8').on('data', chunk => {
        body += chunk;
        if (body.length > largestAnswer) sent.destroy(new Error('what listens there is not this service'));
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
