/**
 * Sends requests to the service with the client library. A failure is one line that says what to do, and never contains
 * a key or a value. Requests use `node:http`, which starts faster than the runtime's `fetch` and supports Unix sockets.
 */
import type { IncomingMessage, RequestOptions } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import packageJson from '../../../package.json' with { type: 'json' };
import {
  type ClientRequest,
  type Exchanged,
  exchange,
  type Fetch,
  type FetchAnswer,
} from '../../client/exchange.ts';
import { warningHeader } from '../../contract/look-alikes.ts';
import { socketIn } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { note, printable } from '../terminal/terminal.ts';

export interface RemoteRequest extends ClientRequest {
  readonly path: string;
  readonly key: string | null;
  /** The longest silence, in milliseconds. */
  readonly patience?: number;
}

/** The service could not be reached or could not serve the request: stored values may be used instead. */
export class Away extends Refusal {}

/** The service refused the request. */
export class RefusedRequest extends Refusal {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

const usualPatience = 30_000;
const mostBytes = 256 * 1024 * 1024;
const mostTries = 3;
const longestWait = 60;

/** Returns the answer, whatever its status. Throws `Away` if there is none. */
export async function ask(url: string, { path, key, patience, ...asked }: RemoteRequest): Promise<Exchanged> {
  const peer = {
    url: socketIn(url) === null ? url : 'http://localhost',
    key,
    fetch: fetchFrom(url, patience),
  };
  for (let tries = 1; ; tries += 1) {
    const answer = await exchange(peer, path, asked);
    const warning = answer.headers.get(warningHeader);
    if (warning !== null) note(printable(warning));
    const wait = Number(answer.headers.get('retry-after') ?? Number.NaN);
    // A rate limit refuses before anything is done, so any method may be repeated.
    if (answer.status !== 429 || tries === mostTries || !(wait <= longestWait)) return answer;
    await sleep(wait * 1000);
  }
}

/** Returns the answer as JSON; throws for any status other than 200. Of many writes, each has its own result. */
export async function askJson<T>(url: string, asked: RemoteRequest): Promise<T> {
  const answer = await ask(url, asked);
  if (answer.status === 202) return unlessProposed(jsonOf(url, answer) as object) as T;
  if (answer.status !== 200) throw refusalOf(url, answer);
  return jsonOf(url, answer) as T;
}

function unlessProposed(answer: object): object {
  if ('results' in answer || 'data' in answer) return answer;
  const { url } = (answer as { readonly proposal: { readonly url: string } }).proposal;
  throw new RefusedRequest(
    `sent for review: nothing was written yet, someone else has to confirm it at ${printable(url)}`,
    202,
  );
}

export function jsonOf(url: string, { text }: Exchanged): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RefusedRequest(`${url} does not answer like Strongroom: check the address`, 200);
  }
}

/** An import would also load optional parts of these modules, such as web sockets, and take twice as long. */
function moduleFor(url: string): Pick<typeof import('node:http'), 'request'> {
  return process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
}

/** Ends a connection that is silent for too long; the whole answer may take longer. */
function fetchFrom(base: string, patience = usualPatience): Fetch {
  const socketPath = socketIn(base);
  return (url, { method, headers, body = null }) =>
    new Promise((resolve, reject) => {
      const length = body === null ? {} : { 'content-length': Buffer.byteLength(body) };
      const options: RequestOptions = {
        method,
        headers: { ...headers, 'user-agent': `strongroom/${packageJson.version}`, ...length },
        ...(socketPath === null ? {} : { socketPath }),
      };
      const failed = (error: Error) => reject(new Away(unreachable(base, error)));
      const sent = moduleFor(url).request(url, options, answer => collect(answer).then(resolve, failed));
      sent.setTimeout(patience, () => sent.destroy(new Error('no answer in time')));
      sent.on('error', failed);
      sent.end(body);
    });
}

async function collect(answer: IncomingMessage): Promise<FetchAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  return {
    status: answer.statusCode ?? 0,
    headers: { get: name => answer.headers[name]?.toString() ?? null },
    text: async () => Buffer.concat(chunks).toString('utf8'),
  };
}

const untrusted = /CERT|SELF_SIGNED|ISSUER|ERR_TLS|VERIFY/;

function unreachable(url: string, error: Error): string {
  const code = (error as NodeJS.ErrnoException).code ?? error.message;
  return untrusted.test(code)
    ? `the certificate of ${url} is not trusted (${code}): set NODE_EXTRA_CA_CERTS to its authority’s certificate`
    : `can’t reach ${url} (${code})`;
}

const meanings: Readonly<Record<number, string>> = {
  401: 'the key is not accepted: it may be wrong, expired or revoked, or belong to another vault',
  403: 'the key is not allowed to do this',
  404: 'not found',
  429: 'too many requests: try again later',
};

export function refusalOf(url: string, answer: Exchanged): Refusal {
  const { status } = answer;
  if (status >= 500) return new Away(`${url} can’t serve now (status ${status}): try again later`);
  if (status >= 300 && status < 400)
    return new RefusedRequest(`${url} redirects to another address: use that one`, status);
  if (status === 403 && answer.text.includes('"PROOF_REQUIRED"'))
    return new RefusedRequest(
      'Confirm your identity first: run strongroom login, and try again within five minutes',
      403,
    );
  const said = status === 400 || status === 403 ? reasonIn(answer) : null;
  return new RefusedRequest(said ?? meanings[status] ?? `${url} answered with status ${status}`, status);
}

/** The service's own message, which never repeats a value. */
function reasonIn({ text: body }: Exchanged): string | null {
  try {
    const { error, message } = JSON.parse(body);
    const { field = '', reason = '' } = error?.details ?? {};
    const text = reason === '' ? (error?.message ?? message) : `${field} ${reason}`.trim();
    return typeof text === 'string' && text !== 'Forbidden' ? printable(text) : null;
  } catch {
    return null;
  }
}
