/**
 * One call to another service, with a value that must not come back. It goes to an address that was judged, by no
 * proxy; follows no redirect; and ends within its time with a result, whatever the other side does.
 */
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as encryptedRequest } from 'node:https';
import { type Egress, hostOf } from '../access/egress.ts';
import { type BrokeredCall, type BrokeredResult, nothing, resultOf, Withheld } from './brokered-answer.ts';
import { AddressRefused, type Agents, guardedAgents, type Resolve } from './connections.ts';
import { type Scrubber, scrubberOf } from './scrubbing.ts';

export interface Broker {
  call(call: BrokeredCall): Promise<BrokeredResult>;
  close(): Promise<void> | void;
}

export interface BrokerParts {
  readonly egress: Egress;
  readonly resolve: Resolve;
}

/** In bytes, of all that are kept. */
const mostScrubbing = 32 * 1024 * 1024;
const mostHeaderText = 16 * 1024;

export function brokerWith({ egress, resolve }: BrokerParts): Broker {
  // What changes something is not sent on a connection that may be closing: nobody could tell whether it arrived.
  const kept = guardedAgents(egress, resolve);
  const fresh = guardedAgents(egress, resolve, false);
  const scrubbers = new Map<string, Scrubber>();
  const underWay = new Set<Deadline>();
  let scrubbing = 0;

  function scrubberFor(values: readonly string[]): Scrubber {
    const key = JSON.stringify(values);
    const known = scrubbers.get(key);
    if (known !== undefined) return known;
    const scrubber = scrubberOf(values);
    if (scrubbing + scrubber.size > mostScrubbing) {
      scrubbers.clear();
      scrubbing = 0;
    }
    scrubbers.set(key, scrubber);
    scrubbing += scrubber.size;
    return scrubber;
  }

  async function call(order: BrokeredCall): Promise<BrokeredResult> {
    const url = new URL(order.url);
    const refusal = egress.refusalOf(url);
    if (refusal !== null) return { ...nothing, outcome: 'failed', reason: `the address ${refusal}` };
    const isRead = order.method === 'GET' || order.method === 'HEAD';
    const scrubber = order.response === 'full' ? scrubberFor(order.values) : nothingShown;
    const deadline = new Deadline(order.patience);
    underWay.add(deadline);
    try {
      return await attempt(isRead ? kept : fresh, url, order, deadline, scrubber).catch(error => {
        if (!(error instanceof Stale)) throw error;
        // The other side closed a kept connection just when it was used, and this asks for no change.
        return attempt(fresh, url, order, deadline, scrubber);
      });
    } catch (error) {
      return failed(error as Error, deadline);
    } finally {
      deadline.clear();
      underWay.delete(deadline);
    }
  }

  return {
    call,
    close: () => {
      for (const deadline of underWay) deadline.end('the service stopped');
      for (const agents of [kept, fresh]) for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** Ends what is under way when the time for all of it is over. A signal that does so costs much more. */
class Deadline {
  readonly #timer: NodeJS.Timeout;
  #request: ClientRequest | null = null;
  /** Why it is. */
  over: string | null = null;

  constructor(patience: number) {
    this.#timer = setTimeout(() => this.end('timed out'), patience);
  }

  watch(request: ClientRequest): void {
    this.#request = request;
  }

  end(why: string): void {
    this.over ??= why;
    this.#request?.destroy(new Error(why));
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** For answers of which nothing is shown. */
const nothingShown = scrubberOf([]);

/** A kept connection turned out to be closed before anything came back. */
class Stale extends Error {}

async function attempt(
  agents: Agents,
  url: URL,
  order: BrokeredCall,
  deadline: Deadline,
  scrubber: Scrubber,
): Promise<BrokeredResult> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = open(agents, url, order);
  deadline.watch(request);
  request.on('response', resolve);
  request.on('error', error => {
    const isStale = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
    reject(isStale ? new Stale() : error);
  });
  // Another protocol, or a tunnel, is no answer.
  request.on('upgrade', (_response, socket) => {
    socket.destroy();
    reject(new Error('the connection failed'));
  });
  request.end(order.body ?? undefined);
  const response = await promise;
  try {
    return await resultOf(response, order, scrubber);
  } finally {
    if (!response.complete) response.destroy();
  }
}

function open(agents: Agents, url: URL, order: BrokeredCall): ClientRequest {
  const encrypted = url.protocol === 'https:';
  const length = order.body === null ? {} : { 'content-length': String(order.body.length) };
  return (encrypted ? encryptedRequest : plainRequest)({
    method: order.method,
    hostname: hostOf(url),
    port: url.port === '' ? (encrypted ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    agent: agents[url.protocol as keyof Agents],
    maxHeaderSize: mostHeaderText,
    headers: {
      ...order.headers,
      ...length,
      host: url.host,
      'accept-encoding': 'identity',
      'user-agent': 'Strongroom',
    },
  });
}

/** A code where there is one: messages quote addresses and certificates. */
function failed(error: Error, { over }: Deadline): BrokeredResult {
  if (error instanceof Withheld) {
    const { message: reason, status, bytes } = error;
    return { ...nothing, outcome: 'withheld', reason, status, bytes };
  }
  const [first] = error instanceof AggregateError ? error.errors : [error];
  const code = (first as NodeJS.ErrnoException).code;
  const known = first instanceof AddressRefused ? first.message : code;
  const reason = over ?? known ?? 'the connection failed';
  return { ...nothing, outcome: 'failed', reason };
}
