/**
 * One call to another service, with a value that must not come back. It connects only to a permitted address, without a
 * proxy, follows no redirects, and ends within its time with a result, whatever the other side does.
 */
import { once } from 'node:events';
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
import { Cut, noAnswer, type Outlet, type PassedCall, type PassedOn, passedOn } from './passed-on.ts';
import { closeAfter, isPlainEnd, Pools } from './pools.ts';
import { Scrubbers } from './scrubbers.ts';
import { ScrubbedStream, ValueFound } from './streamed-scrubbing.ts';

export type Broker = ReturnType<typeof brokerWith>;

export function brokerWith({ egress, resolve }: { readonly egress: Egress; readonly resolve: Resolve }) {
  const pools = new Pools(egress, resolve);
  const scrubbers = new Scrubbers();
  const turns = new FairTurns();
  const underWay = new Set<Deadline>();

  /** Makes one attempt, or two where the first failed because a reused connection was closed. */
  async function within<T>(
    order: BrokeredCall,
    deadline: Deadline,
    attempt: (agents: Agents, url: URL) => Promise<T>,
  ): Promise<T> {
    const url = new URL(order.url);
    const refusal = egress.refusalOf(url);
    if (refusal !== null) throw new AddressRefused(`the address ${refusal}`);
    // Only a request that may be repeated uses a connection that may be closing.
    const isKept = order.method === 'GET' && !order.isOnce;
    underWay.add(deadline);
    try {
      const first = isKept ? pools.keptFor(order.secret) : pools.fresh;
      return await attempt(first, url).catch(error => {
        if (!(error instanceof Stale)) throw error;
        // The other side closed a reused connection at that moment, and the request makes no change, so it is repeated.
        return attempt(pools.fresh, url);
      });
    } finally {
      deadline.clear();
      underWay.delete(deadline);
    }
  }

  async function call(order: BrokeredCall): Promise<BrokeredResult> {
    const scrub: Scrub = bytes => scrubbers.of(order.values).scrub(bytes, () => turns.take(order.lane));
    const deadline = new Deadline(order.patience);
    try {
      return await within(order, deadline, async (agents, url) => {
        const response = await opened(agents, url, order, deadline, request =>
          request.end(order.body ?? undefined),
        );
        return resultOf(response, order, scrub).finally(() => response.destroy());
      });
    } catch (error) {
      return failed(error as Error, deadline);
    }
  }

  async function passOn(order: PassedCall, outlet: Outlet): Promise<PassedOn> {
    const turn = () => turns.take(order.lane);
    const scrubber = scrubbers.of(order.values);
    const deadline = new Deadline(order.patience);
    const watch = setInterval(() => void endUnless(order, outlet, deadline), watchEvery);
    try {
      return await within(order, deadline, async (agents, url) => {
        const body = order.rest === null ? null : new ScrubbedStream(scrubber, turn);
        const answered = new AbortController();
        const response = await opened(agents, url, order, deadline, request => {
          if (body === null) return void request.end(order.body ?? undefined);
          sendPieces(request, order, body, answered.signal).catch(error => request.destroy(error));
        });
        const scrub: Scrub = bytes => scrubber.scrub(bytes, turn);
        const stream = new ScrubbedStream(scrubber, turn);
        return passedOn(response, order, outlet, scrub, stream).finally(() => {
          answered.abort();
          response.destroy();
        });
      });
    } catch (error) {
      return notPassedOn(error as Error, deadline);
    } finally {
      clearInterval(watch);
    }
  }

  return {
    call,
    passOn,
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

/** In milliseconds: how often a call in progress is checked. */
const watchEvery = 1_000;

async function endUnless({ isStill }: PassedCall, outlet: Outlet, deadline: Deadline): Promise<void> {
  const mayGoOn = outlet.isOpen() && (await isStill().catch(() => false));
  if (!mayGoOn) deadline.end('it is no longer allowed');
}

/** Sends a request and resolves with the head of its answer. */
async function opened(
  agents: Agents,
  url: URL,
  order: BrokeredCall & Partial<Pick<PassedCall, 'rest' | 'length'>>,
  deadline: Deadline,
  send: (request: ClientRequest) => void,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const length = (order.rest ?? null) === null ? order.body?.length : order.length;
  const request = requestTo(url, agents, {
    method: order.method,
    headers: {
      ...order.headers,
      ...(typeof length === 'number' && { 'content-length': String(length) }),
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
  send(request);
  return promise;
}

/** The body is longer than allowed. */
class BodyRefused extends Error {}

/** Sends a body while it arrives, but nothing that could be a part of the value. */
async function sendPieces(
  request: ClientRequest,
  order: PassedCall,
  body: ScrubbedStream,
  answered: AbortSignal,
): Promise<void> {
  let size = order.body?.length ?? 0;
  const send = async (bytes: Buffer) => {
    if (body.redacted > 0) throw new ValueFound(body.redacted);
    if (bytes.length > 0 && !request.write(bytes)) await once(request, 'drain', { signal: answered });
  };
  await send(await body.add(Buffer.from(order.body ?? [])));
  for await (const piece of order.rest!) {
    size += piece.length;
    if (size > order.maxRequest) throw new BodyRefused(`must be at most ${order.maxRequest} bytes`);
    await send(await body.add(piece));
  }
  await send(await body.end());
  request.end();
}

/** Prefers a code, because messages quote addresses and certificates. */
function failed(error: Error, { over }: Deadline): BrokeredResult {
  if (error instanceof Withheld) {
    const { message: reason, status, bytes, parts } = error;
    return { ...nothing, outcome: 'withheld', reason, status, bytes, parts };
  }
  return { ...nothing, outcome: 'failed', reason: reasonOf(error, over) };
}

function reasonOf(error: Error, over: string | null): string {
  const known = error instanceof AddressRefused ? error.message : (error as NodeJS.ErrnoException).code;
  return over ?? known ?? 'the connection failed';
}

function notPassedOn(error: Error, deadline: Deadline): PassedOn {
  const { status, bytes, parts } = error as Cut;
  if (error instanceof Cut)
    return { ...noAnswer, outcome: 'cut', reason: deadline.over ?? error.message, status, bytes, parts };
  if (error instanceof BodyRefused) return { ...noAnswer, outcome: 'refused', reason: error.message };
  if (error instanceof ValueFound)
    return { ...noAnswer, outcome: 'refused', reason: null, parts: error.parts };
  if (error instanceof Withheld)
    return { ...noAnswer, outcome: 'withheld', reason: error.message, status, bytes, parts };
  return { ...noAnswer, outcome: 'failed', reason: reasonOf(error, deadline.over) };
}
