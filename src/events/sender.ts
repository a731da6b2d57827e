/**
 * One attempt to deliver a message. It takes at most ten seconds, follows no redirects, and keeps the first 4 KiB of
 * the response. Whatever the receiver does, it ends with a result.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Egress } from '../access/egress.ts';
import {
  AddressRefused,
  type Agents,
  destroy,
  guardedAgents,
  type Resolve,
  requestTo,
} from '../egress/connections.ts';
import { signatureOf } from './webhook-signature.ts';

/** A message and its receiver. */
export interface Delivery {
  /** The same in every attempt. */
  readonly id: string;
  readonly method: 'POST' | 'PUT';
  readonly url: string;
  readonly body: string;
  /** Besides those of every message. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly secrets: readonly string[];
}

export interface DeliveryResult {
  readonly status: number | null;
  readonly durationMs: number;
  readonly answer: string;
  /** Why it failed; null if there was a response, whatever its status. */
  readonly error: string | null;
  readonly retryAfter: string | null;
}

interface SenderParts {
  readonly egress: Egress;
  readonly resolve: Resolve;
  readonly patience?: number;
}

const defaultPatience = 10_000;
const mostAnswer = 4 * 1024;

export type Sender = ReturnType<typeof senderWith>;

export function senderWith({ egress, resolve, patience = defaultPatience }: SenderParts) {
  const agents = guardedAgents(egress, resolve);

  async function send(message: Delivery): Promise<DeliveryResult> {
    const url = new URL(message.url);
    const refusal = egress.refusalOf(url);
    if (refusal !== null) return failed(refusal, 0);
    const started = performance.now();
    const deadline = AbortSignal.timeout(patience);
    const first = await attempt(agents, url, message, deadline, started);
    // The receiver closed a reused connection at that moment, which says nothing about the receiver.
    return first ?? (await attempt(agents, url, message, deadline, started)) ?? failed('ECONNRESET', started);
  }

  return {
    send: (message: Delivery) => send(message).catch(() => failed('the request could not be made', 0)),
    close: () => destroy(agents),
  };
}

/** Returns null if a reused connection was closed before anything was received. */
function attempt(
  agents: Agents,
  url: URL,
  message: Delivery,
  signal: AbortSignal,
  started: number,
): Promise<DeliveryResult | null> {
  return new Promise(resolve => {
    const request = open(agents, url, message);
    let answering: Answering | null = null;
    const settle = (result: DeliveryResult | null) => {
      signal.removeEventListener('abort', onTimeout);
      resolve(result);
    };
    const fail = (error: string) => settle(answering?.failed(error) ?? failed(error, started));
    const onTimeout = () => {
      fail('timed out');
      request.destroy();
    };
    signal.addEventListener('abort', onTimeout);
    if (signal.aborted) onTimeout();
    request.on('response', response => {
      answering = readAnswer(response, started, settle, fail);
    });
    request.on('error', error => {
      if (answering === null && request.reusedSocket && codeOf(error) === 'ECONNRESET') settle(null);
      else fail(reasonOf(error));
    });
    request.on('close', () => fail('the connection was closed'));
    request.end(message.body);
  });
}

function open(agents: Agents, url: URL, message: Delivery): ClientRequest {
  const { id, method, body, headers, at, secrets } = message;
  return requestTo(url, agents, {
    method,
    headers: {
      ...headers,
      host: url.host,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'accept-encoding': 'identity',
      'user-agent': 'Strongroom-Webhooks',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at / 1000)),
      'webhook-signature': signatureOf(secrets, id, at, body),
    },
  });
}

interface Answering {
  failed(error: string): DeliveryResult;
}

function readAnswer(
  response: IncomingMessage,
  started: number,
  settle: (result: DeliveryResult) => void,
  fail: (error: string) => void,
): Answering {
  const kept: Buffer[] = [];
  let size = 0;
  const result = (error: string | null): DeliveryResult => ({
    status: response.statusCode ?? null,
    durationMs: since(started),
    answer: Buffer.concat(kept).subarray(0, mostAnswer).toString('utf8'),
    error,
    retryAfter: response.headers['retry-after'] ?? null,
  });
  response.on('data', (chunk: Buffer) => {
    kept.push(chunk);
    size += chunk.length;
    if (size < mostAnswer) return;
    settle(result(null));
    response.destroy();
  });
  response.on('end', () => settle(result(null)));
  response.on('error', error => fail(reasonOf(error)));
  return { failed: result };
}

function failed(error: string, started: number): DeliveryResult {
  const durationMs = started === 0 ? 0 : since(started);
  return { status: null, durationMs, answer: '', error, retryAfter: null };
}

function since(started: number): number {
  return Math.round(performance.now() - started);
}

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

/** Prefers a code, because messages quote addresses and certificates. */
function reasonOf(error: Error): string {
  if (error instanceof AddressRefused) return error.message;
  // If several addresses were tried, the first failure is reported.
  const [first] = error instanceof AggregateError ? error.errors : [error];
  if (first instanceof AddressRefused) return first.message;
  return codeOf(first) || 'the connection failed';
}
