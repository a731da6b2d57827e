/**
 * One call to another service, with a value that must not come back. It connects only to a permitted address, without a
 * proxy, follows no redirects, and ends within its time with a result, whatever the other side does.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Egress } from '../access/egress.ts';
import { FairTurns, type Lane } from '../base/fair-line.ts';
import {
  type BrokeredCall,
  type BrokeredResult,
  nothing,
  resultOf,
  type Scrub,
  Withheld,
} from './brokered-answer.ts';
import { AddressRefused, type Agents, type Resolve, requestTo } from './connections.ts';
import { closeAfter, isPlainEnd, Pools } from './pools.ts';
import { Scrubbers } from './scrubbers.ts';

export type Broker = ReturnType<typeof brokerWith>;

export function brokerWith({ egress, resolve }: { readonly egress: Egress; readonly resolve: Resolve }) {
  const pools = new Pools(egress, resolve);
  const scrubbers = new Scrubbers();
  const turns = new FairTurns();
  const underWay = new Set<Deadline>();

  async function call(order: BrokeredCall): Promise<BrokeredResult> {
    const url = new URL(order.url);
    const refusal = egress.refusalOf(url);
    if (refusal !== null) return { ...nothing, outcome: 'failed', reason: `the address ${refusal}` };
    // Only a request that may be repeated uses a connection that may be closing.
    const isKept = order.method === 'GET' && !order.isOnce;
    const scrub: Scrub = bytes => scrubbers.of(order.values).scrub(bytes, () => turns.take(order.lane));
    const deadline = new Deadline(order.patience);
    underWay.add(deadline);
    try {
      const first = isKept ? pools.keptFor(order.secret) : pools.fresh;
      return await attempt(first, url, order, deadline, scrub).catch(error => {
        if (!(error instanceof Stale)) throw error;
        // The other side closed a reused connection at that moment, and the request makes no change, so it is repeated.
        return attempt(pools.fresh, url, order, deadline, scrub);
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
    /** How many parts of the values seem to be in a text; 0 if none. */
    partsIn: (values: readonly string[], text: Buffer, lane: Lane): Promise<number> =>
      scrubbers.of(values).partsIn(text, () => turns.take(lane)),
    close: () => {
      for (const deadline of underWay) deadline.end('the service stopped');
      pools.close();
    },
  };
}

/** Ends the call when its total time is over. An abort signal would cost much more. */
class Deadline {
  readonly #timer: NodeJS.Timeout;
  #request: ClientRequest | null = null;
  /** The reason, once it has ended. */
  over: string | null = null;

  constructor(patience: number) {
    this.#timer = setTimeout(() => this.end('timed out'), patience);
  }

  watch(request: ClientRequest): void {
    this.#request = request;
  }

  end(why: string): void {
    this.over = why;
    this.#request?.destroy(new Error(why));
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** A reused connection was closed before anything was received. */
class Stale extends Error {}

async function attempt(
  agents: Agents,
  url: URL,
  order: BrokeredCall,
  deadline: Deadline,
  scrub: Scrub,
): Promise<BrokeredResult> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = requestTo(url, agents, {
    method: order.method,
    headers: {
      ...order.headers,
      ...(order.body !== null && { 'content-length': String(order.body.length) }),
      host: url.host,
      'accept-encoding': 'identity',
      'user-agent': 'Strongroom',
    },
  });
  deadline.watch(request);
  // After anything unusual, the connection is not reused.
  request.on('information', () => closeAfter(request));
  request.on('response', response => {
    if (!isPlainEnd(order.method, response.statusCode!)) closeAfter(request);
    resolve(response);
  });
  request.on('error', error => {
    const isStale = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
    reject(isStale ? new Stale() : error);
  });
  // A protocol upgrade or a tunnel is not an answer.
  request.on('upgrade', (_response, socket) => {
    socket.destroy();
    reject(new Error('the connection failed'));
  });
  request.end(order.body ?? undefined);
  const response = await promise;
  try {
    return await resultOf(response, order, scrub);
  } finally {
    response.destroy();
  }
}

/** Prefers a code, because messages quote addresses and certificates. */
function failed(error: Error, { over }: Deadline): BrokeredResult {
  if (error instanceof Withheld) {
    const { message: reason, status, bytes, parts } = error;
    return { ...nothing, outcome: 'withheld', reason, status, bytes, parts };
  }
  const known = error instanceof AddressRefused ? error.message : (error as NodeJS.ErrnoException).code;
  const reason = over ?? known ?? 'the connection failed';
  return { ...nothing, outcome: 'failed', reason };
}
