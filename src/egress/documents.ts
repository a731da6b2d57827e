/**
 * Fetches JSON documents that other services publish, such as the metadata of a token issuer. A document must arrive
 * within five seconds with status 200, without redirects, from a permitted address, and be at most 256 KiB long.
 */
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as encryptedRequest } from 'node:https';
import { type Egress, hostOf } from '../access/egress.ts';
import { AddressRefused, type Agents, guardedAgents, type Resolve } from './connections.ts';

interface Documents {
  /** Rejects with a reason for the operator, which contains nothing from the answer. */
  fetch(url: string): Promise<unknown>;
  close(): void;
}

export interface DocumentParts {
  readonly egress: Egress;
  readonly resolve: Resolve;
  readonly patience?: number;
}

const defaultPatience = 5_000;
export const largestDocument = 256 * 1024;

export function documentsWith({ egress, resolve, patience = defaultPatience }: DocumentParts): Documents {
  const agents = guardedAgents(egress, resolve);
  return {
    fetch: async text => {
      const url = URL.parse(text);
      const refusal = url === null ? 'is not a URL' : egress.refusalOf(url);
      if (refusal !== null) throw new Error(`the address ${refusal}`);
      return parsed(await bytesAt(agents, url!, AbortSignal.timeout(patience)));
    },
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function bytesAt(agents: Agents, url: URL, signal: AbortSignal): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const fail = (error: Error) => reject(new Error(reasonOf(error, signal)));
  const request = (url.protocol === 'https:' ? encryptedRequest : plainRequest)({
    hostname: hostOf(url),
    port: url.port, // If empty, the default of the agent's protocol.
    path: url.pathname + url.search,
    agent: agents[url.protocol as keyof Agents],
    maxHeaderSize: 16 * 1024,
    signal,
    headers: { host: url.host, accept: 'application/json', 'user-agent': 'Strongroom-Issuers' },
  });
  request.on('response', response => readAll(response).then(resolve, fail));
  request.on('error', fail);
  request.end();
  return promise;
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    if (response.statusCode !== 200) throw new Refused(`the answer has the status ${response.statusCode}`);
    for await (const piece of response as AsyncIterable<Buffer>) {
      pieces.push(piece);
      size += piece.length;
      if (size > largestDocument) throw new Refused('the answer is too long');
    }
  } finally {
    response.destroy();
  }
  return Buffer.concat(pieces);
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
  return signal.aborted ? 'timed out' : (error.code ?? 'the connection failed');
}
