/**
 * Uses, as they are passed on to the plane of uses by the thread that has the client's connection: it identifies the
 * access key, and answers. If that plane ends, its open calls are refused, and the next use starts another one.
 */
import type { IncomingMessage } from 'node:http';
import type { Reader } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { Uses } from '../../domain/reading.ts';
import type { RequestFacts } from '../../domain/reads/vault-request.ts';
import type { UseResult } from '../../domain/uses/recorded-uses.ts';
import type { ForwardAdmitted } from '../../http/listener/admitted-request.ts';
import { failureOf } from '../../http/listener/errors.ts';
import type { Channel } from '../../threads/channel.ts';
import { receivedFailure, sentFailure, ThreadEnded } from '../../threads/failures.ts';
import type { FromExchange, UseMessage, UseOrder, UseOutcome, UsesExchange } from './messages.ts';
import { RequestForwarder } from './request-forwarder.ts';

/** What this needs from the thread that it runs in. */
export interface UsesReader {
  /** Records that a request was not served. */
  readonly refuse: (facts: RequestFacts, failure: Failure) => Promise<UseResult<never>>;
  /** The access key of a request, as it is now. Throws if it has none that is valid. */
  readonly identify: (facts: RequestFacts) => Promise<Reader>;
}

/** The way to the plane of uses. */
export interface WayToUses {
  readonly channel: () => Channel<UsesExchange> | null;
  /** Called if there is no channel. */
  readonly start: () => Channel<UsesExchange>;
  readonly isStopping: () => boolean;
  /** How many readers share the limits of the process. */
  readonly share?: number;
}

export class UsesOrders implements Uses {
  readonly #way: WayToUses;
  readonly #forwarding: RequestForwarder;
  /** How to refuse a request to the gateway that the plane can't serve. */
  readonly #refusals = new WeakMap<IncomingMessage, () => void>();
  #reader: UsesReader | null = null;

  constructor(way: WayToUses) {
    this.#way = way;
    this.#forwarding = new RequestForwarder({
      share: way.share,
      post: (message, transfer = []) => way.channel()?.notifyThisTurn(transfer, 'exchange', message),
      isUp: () => !way.isStopping(),
      refuse: request => this.#refusals.get(request)!(),
      onLate: () => {}, // Bodies are limited by the listener's own time.
    });
  }

  /** Called once there is a domain. */
  begin(reader: UsesReader): void {
    this.#reader = reader;
  }

  take(message: FromExchange): void {
    this.#forwarding.take(message);
  }

  /** The plane has ended. */
  failAll(): void {
    this.#forwarding.failAll();
  }

  /** Passes a request to the gateway on, and its answer back, while they arrive. */
  readonly gateway: ForwardAdmitted = (request, response, admitted, unavailable) => {
    this.#refusals.set(request, unavailable);
    if (!this.#way.isStopping() && this.#way.channel() === null) this.#way.start();
    const facts = withoutToken(admitted.facts);
    this.#forwarding.forwardAdmitted(request, response, { ...admitted, facts });
  };

  readonly vaultUses: Uses['vaultUses'] = {
    use: ({ call, ...facts }) =>
      this.#order('secret', facts, call instanceof Failure ? { unread: sentFailure(call) } : { call }),
  };

  readonly keyUses: Uses['keyUses'] = {
    use: ({ asked, ...facts }) =>
      this.#order('key', facts, asked instanceof Failure ? { unread: sentFailure(asked) } : { key: asked }),
    operate: ({ asked, ...facts }) => {
      const sent = asked instanceof Failure ? { unread: sentFailure(asked) } : { operation: asked };
      return this.#order('operation', facts, sent);
    },
  };

  readonly leaseUses: Uses['leaseUses'] = {
    use: ({ asked, ...facts }) =>
      this.#order(
        'lease',
        facts,
        asked instanceof Failure ? { unread: sentFailure(asked) } : { lease: asked },
      ),
  };

  readonly runUses: Uses['runUses'] = {
    use: ({ asked, ...facts }) =>
      this.#order('run', facts, asked instanceof Failure ? { unread: sentFailure(asked) } : { run: asked }),
  };

  async #order(of: UseOrder['of'], facts: RequestFacts, asked: UseMessage): Promise<UseResult<never>> {
    const { identify, refuse } = this.#reader!;
    let reader: Reader;
    try {
      reader = await identify(facts);
    } catch (error) {
      return refuse(facts, failureOf(error));
    }
    if (this.#way.isStopping()) return refuse(facts, new ThreadEnded());
    const channel = this.#way.channel() ?? this.#way.start();
    try {
      return resultOf(await channel.call('use', { of, facts: withoutToken(facts), reader, asked }));
    } catch (error) {
      // It is unknown how far the call got.
      if (error instanceof ThreadEnded) return refuse(facts, error);
      throw error;
    }
  }
}

/** The facts that are sent to the other thread. */
function withoutToken({
  sender,
  requestId,
  route,
  method,
  tool,
  vaultId,
  keyId,
}: RequestFacts): RequestFacts {
  const { address, userAgent } = sender;
  return { sender: { address, userAgent }, requestId, route, method, tool, token: null, vaultId, keyId };
}

function resultOf({ status, receipt, requestId, answer, failure }: UseOutcome): UseResult<never> {
  return failure === null
    ? { status: 200, answer: answer as never, receipt, requestId }
    : { status, failure: receivedFailure(failure), receipt, requestId };
}
