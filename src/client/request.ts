/**
 * Sends one authenticated request, with a timeout. Plain HTTP is refused for other machines, and every failure is a
 * `StrongroomError`.
 */
import type { ProposalNotice } from './api.ts';
import { type Clock, systemClock } from './clock.ts';
import { codeOf, StrongroomError } from './errors.ts';
import { type ClientRequest, type Exchanged, exchange, type Fetch, type FetchAnswer } from './exchange.ts';

/** The proof that a read was recorded before it was answered. Keep it to verify the request log later. */
export interface Receipt {
  readonly receipt: string;
  readonly requestId: string;
  readonly status: number;
  /** Milliseconds since 1970, by this machine's clock. */
  readonly at: number;
}

export interface ConnectionOptions {
  /** The address of the service, such as `https://vault.example.com`. */
  readonly url: string;
  readonly key: string;
  /** How long to wait for an answer. 10 by default. */
  readonly timeoutSeconds?: number | undefined;
  /** Allows `http:` to another machine, if the connection is encrypted by other means. */
  readonly insecureHttp?: boolean | undefined;
  readonly fetch?: Fetch | undefined;
  readonly clock?: Clock | undefined;
}

export type Connection = Readonly<ReturnType<typeof connect>>;

/** The part of `AbortController` that is used. */
interface Closing {
  abort(): void;
  readonly signal: {
    readonly aborted: boolean;
    addEventListener(type: 'abort', listener: () => void): void;
    removeEventListener(type: 'abort', listener: () => void): void;
  };
}

/** The addresses of this machine, to which plain HTTP is allowed; the service treats the same ones as its own. */
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

const ownFetch: Fetch = (url, init) => fetch(url, init);

export function connect(
  options: ConnectionOptions & { readonly onReceipt?: ((receipt: Receipt) => void) | undefined },
) {
  // It cancels requests in progress.
  const closing: Closing = new AbortController();
  return {
    url: addressOf(options),
    key: keyOf(options.key),
    timeout: positive('timeoutSeconds', options.timeoutSeconds ?? 10) * 1000,
    fetch: options.fetch ?? ownFetch,
    clock: options.clock ?? systemClock,
    onReceipt: options.onReceipt,
    closing,
  };
}

/** The messages never contain the address, which may include a password. */
function addressOf({ url, insecureHttp = false }: ConnectionOptions): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    throw wrong('url must be an http or https address');
  if (parsed.username !== '' || parsed.password !== '')
    throw wrong('url can’t contain a user name or password');
  if (parsed.protocol === 'http:' && !loopback.test(parsed.hostname) && !insecureHttp) {
    throw wrong('url must be https, except on this machine; insecureHttp: true allows it');
  }
  return parsed.origin + parsed.pathname.replace(/\/+$/, '');
}

/** A runtime that refuses a header repeats it in its error, so malformed keys are refused first. */
function keyOf(key: string): string {
  const trimmed = typeof key === 'string' ? key.trim() : '';
  if (!/^[\x21-\x7e]+$/.test(trimmed)) throw wrong('key must be an access key or an API key');
  return trimmed;
}

export function wrong(message: string): StrongroomError {
  return new StrongroomError('INVALID_OPTIONS', `${message}.`);
}

export function positive(name: string, value: number): number {
  if (!(value > 0)) throw wrong(`${name} must be a number above 0`);
  return value;
}

/** Succeeds with 200 and, if an ETag was sent, 304; with 202 for many writes, each of which has its own result. */
export async function send(connection: Connection, path: string, asked: ClientRequest = {}) {
  const { status, headers, text } = await exchanged(connection, path, asked);
  const receipt = headers.get('strongroom-receipt');
  if (receipt !== null) {
    const requestId = headers.get('x-request-id') ?? '';
    connection.onReceipt?.({ receipt, requestId, status, at: connection.clock.now() });
  }
  const isDone = status === 200 || (status === 304 && asked.etag) || (status === 202 && isPartlyDone(text));
  if (!isDone) throw status === 202 ? sentForReview(text) : failure(status, headers, text, connection.clock);
  return { status, etag: headers.get('etag'), type: headers.get('content-type') ?? '', text };
}

async function exchanged(connection: Connection, path: string, asked: ClientRequest): Promise<Exchanged> {
  const { timeout, clock, closing } = connection;
  const ending = new AbortController();
  const end = () => ending.abort();
  const cancelTimer = clock.after(timeout, end, true);
  closing.signal.addEventListener('abort', end);
  try {
    if (closing.signal.aborted) end();
    return await exchange(connection, path, asked, ending.signal);
  } catch (cause) {
    if (closing.signal.aborted) throw new StrongroomError('UNREACHABLE', 'The store is closed.');
    const reason = ending.signal.aborted ? 'did not answer in time' : 'can’t be reached';
    throw new StrongroomError('UNREACHABLE', `The vault ${reason}.`, { cause });
  } finally {
    cancelTimer();
    closing.signal.removeEventListener('abort', end);
  }
}

function isPartlyDone(text: string): boolean {
  const { results, data } = json(text) as { readonly results?: unknown; readonly data?: unknown };
  return Array.isArray(results ?? data);
}

function sentForReview(text: string): StrongroomError {
  const { proposal } = json(text) as { readonly proposal?: ProposalNotice };
  const message = 'Nothing was written yet: this vault demands review, and someone else has to confirm it.';
  return new StrongroomError('SENT_FOR_REVIEW', message, { status: 202, proposal: proposal ?? null });
}

function failure(
  status: number,
  headers: FetchAnswer['headers'],
  text: string,
  clock: Clock,
): StrongroomError {
  const said = saidIn(text);
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  const message = isRedirect ? 'The address redirects; use the address that it redirects to.' : said.message;
  const code = said.code === 'CONFLICT' ? 'CONFLICT' : codeOf(status);
  return new StrongroomError(code, message ?? `The vault answered with status ${status}.`, {
    status,
    retryAfterSeconds: retryAfter(headers.get('retry-after'), clock.now()),
  });
}

/** The service's own message, in its own formats. Anything else may be some other page, and is not repeated. */
function saidIn(text: string): { readonly code?: unknown; readonly message?: string } {
  try {
    const body = JSON.parse(text);
    const { code, message, details } = body.error ?? body;
    if (typeof message !== 'string') return {};
    const why = [details?.field, details?.reason].filter(part => typeof part === 'string' && part !== '');
    return { code, message: printable(why.length === 0 ? message : `${message}: ${why.join(' ')}`) };
  } catch {
    return {};
  }
}

function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, ' ').slice(0, 300);
}

/** Seconds or a date; at most an hour, so that a wrong value doesn't stop the client permanently. */
function retryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now) / 1000;
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 0), 3600);
}

/** An id as a path segment: never empty or a dot segment, which would change the path. */
export function segment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw wrong('The id is required');
  return encodeURIComponent(id);
}

export function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new StrongroomError('INVALID_ANSWER', 'The answer is not JSON.');
  }
}
