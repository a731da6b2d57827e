/**
 * Fetches JSON documents that other services publish, such as the metadata of a token issuer. A document must arrive
 * within five seconds with status 200, without redirects, from a permitted address, and be at most 256 KiB long.
 */
import type { IncomingMessage } from 'node:http';
import type { Egress } from '../access/egress.ts';
import { BodyTooLong, bodyOf } from '../base/message-body.ts';
import {
  AddressRefused,
  type Agents,
  destroy,
  guardedAgents,
  type Resolve,
  requestTo,
} from './connections.ts';

export interface DocumentParts {
  readonly egress: Egress;
  readonly resolve: Resolve;
  readonly patience?: number;
}

const defaultPatience = 5_000;
export const largestDocument = 256 * 1024;

export function documentsWith({ egress, resolve, patience = defaultPatience }: DocumentParts) {
  const agents = guardedAgents(egress, resolve);
  return {
    /** Rejects with a reason for the operator, which contains nothing from the answer. */
    fetch: async (text: string): Promise<unknown> => {
      const url = URL.parse(text);
      const refusal = url === null ? 'is not a URL' : egress.refusalOf(url);
      if (refusal !== null) throw new Error(`the address ${refusal}`);
      return parsed(await bytesAt(agents, url!, AbortSignal.timeout(patience)));
    },
    close: () => destroy(agents),
  };
}

function bytesAt(agents: Agents, url: URL, signal: AbortSignal): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const fail = (error: Error) => reject(new Error(reasonOf(error, signal)));
  const headers = { host: url.host, accept: 'application/json', 'user-agent': 'Strongroom-Issuers' };
  const request = requestTo(url, agents, { signal, headers });
  request.on('response', response => readAll(response).then(resolve, fail));
  request.on('error', fail);
  request.end();
  return promise;
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  try {
    if (response.statusCode !== 200) throw new Refused(`the answer has the status ${response.statusCode}`);
    return await bodyOf(response, largestDocument);
  } finally {
    response.destroy();
  }
}

class Refused extends Error {}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new Error('the answer is not JSON');
  }
}

/** Prefers a code, because messages quote addresses and certificates. */
function reasonOf(error: NodeJS.ErrnoException, signal: AbortSignal): string {
  if (error instanceof Refused || error instanceof AddressRefused) return error.message;
  if (error instanceof BodyTooLong) return 'the answer is too long';
  return signal.aborted ? 'timed out' : (error.code ?? 'the connection failed');
}
