/**
 * The reading plane's view of the plane of uses. Its thread starts with the first use. If it dies, its open calls are
 * refused, and the next use starts another thread.
 */
import type { IncomingMessage } from 'node:http';
import type { Reader } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { Uses as UsesOfVault } from '../../domain/reading.ts';
import type { RequestFacts } from '../../domain/reads/vault-request.ts';
import type { UseResult } from '../../domain/uses/recorded-uses.ts';
import type { ForwardAdmitted } from '../../http/listener/admitted-request.ts';
import { failureOf } from '../../http/listener/errors.ts';
import type { OtherLedger } from '../../logs/ledger.ts';
import { receivedFailure, sentFailure, ThreadEnded } from '../../threads/failures.ts';
import { type StartThread, type Thread, threadFile } from '../../threads/thread.ts';
import type { Report } from '../settings/report.ts';
import type {
  FromExchange,
  LedgerServices,
  PlaneData,
  UseMessage,
  UseOrder,
  UseOutcome,
  UsesServices,
} from './messages.ts';
import { Plane } from './plane.ts';
import { RequestForwarder } from './request-forwarder.ts';

/** What the plane of uses needs from the reading plane. */
interface UsesParts {
  readonly data: () => PlaneData;
  /** Records that a request was not served. */
  readonly refuse: (facts: RequestFacts, failure: Failure) => Promise<UseResult<never>>;
  /** The access key of a request, as it is now. Throws if it has none that is valid. */
  readonly identify: (facts: RequestFacts) => Promise<Reader>;
}

/** In milliseconds: a stopping service does not wait longer. */
const longestStop = 5_000;

export class Uses implements UsesOfVault, OtherLedger {
  readonly plane: Plane<UsesServices>;
  readonly #report: Report;
  readonly #forwarding: RequestForwarder;
  /** How to refuse a request to the gateway that this plane can't serve. */
  readonly #refusals = new WeakMap<IncomingMessage, () => void>();
  #parts: UsesParts | null = null;

  constructor(report: Report, start?: StartThread) {
    this.#report = report;
    this.plane = new Plane({
      name: 'the plane of uses',
      file: threadFile(import.meta.url, 'uses-thread'),
      report,
      start,
      services: { exchange: (message: FromExchange) => this.#forwarding.take(message) },
      gather: 0,
      onEnded: () => this.#forwarding.failAll(),
    });
    this.#forwarding = new RequestForwarder({
      post: (message, transfer = []) => this.plane.thread?.notifyThisTurn(transfer, 'exchange', message),
      isUp: () => !this.plane.isStopping,
      refuse: request => this.#refusals.get(request)!(),
      onLate: () => {}, // Bodies are limited by the listener's own time.
    });
  }

  begin(parts: UsesParts): void {
    this.#parts = parts;
  }

  /** Passes a request to the gateway on, and its answer back, while they arrive. */
  readonly gateway: ForwardAdmitted = (request, response, admitted, unavailable) => {
    this.#refusals.set(request, unavailable);
    if (!this.plane.isStopping && this.plane.thread === null) this.#start();
    const facts = withoutToken(admitted.facts);
    this.#forwarding.forwardAdmitted(request, response, { ...admitted, facts });
  };

  readonly vaultUses: UsesOfVault['vaultUses'] = {
    use: ({ call, ...facts }) =>
      this.#order('secret', facts, call instanceof Failure ? { unread: sentFailure(call) } : { call }),
  };

  readonly keyUses: UsesOfVault['keyUses'] = {
    use: ({ asked, ...facts }) =>
      this.#order('key', facts, asked instanceof Failure ? { unread: sentFailure(asked) } : { key: asked }),
    operate: ({ asked, ...facts }) => {
      const sent = asked instanceof Failure ? { unread: sentFailure(asked) } : { operation: asked };
      return this.#order('operation', facts, sent);
    },
  };

  readonly leaseUses: UsesOfVault['leaseUses'] = {
    use: ({ asked, ...facts }) =>
      this.#order(
        'lease',
        facts,
        asked instanceof Failure ? { unread: sentFailure(asked) } : { lease: asked },
      ),
  };

  readonly runUses: UsesOfVault['runUses'] = {
    use: ({ asked, ...facts }) =>
      this.#order('run', facts, asked instanceof Failure ? { unread: sentFailure(asked) } : { run: asked }),
  };

  settle = (): Promise<void> => this.#ask('settle');

  writeHourCounts = (): Promise<void> => this.#ask('writeHourCounts');

  /** Resolves once its work is recorded and the thread has ended. */
  stop(): Promise<void> {
    return this.plane.stop(longestStop);
  }

  async #order(of: UseOrder['of'], facts: RequestFacts, asked: UseMessage): Promise<UseResult<never>> {
    const { identify, refuse } = this.#parts!;
    let reader: Reader;
    try {
      reader = await identify(facts);
    } catch (error) {
      return refuse(facts, failureOf(error));
    }
    if (this.plane.isStopping) return refuse(facts, new ThreadEnded());
    const thread = this.plane.thread ?? this.#start();
    try {
      return resultOf(await thread.call('use', { of, facts: withoutToken(facts), reader, asked }));
    } catch (error) {
      // It is unknown how far the call got.
      if (error instanceof ThreadEnded) return refuse(facts, error);
      throw error;
    }
  }

  /** A stopped plane has already recorded everything. */
  async #ask(what: keyof LedgerServices): Promise<void> {
    await this.plane.thread?.call(what).catch(error => {
      if (!this.plane.isStopping) throw error;
    });
  }

  #start(): Thread<UsesServices> {
    const thread = this.plane.start();
    void this.plane.begin(thread, this.#parts!.data()).then(
      beginning => {
        if (!('refused' in beginning)) return;
        this.#report(`the plane of uses could not start: ${beginning.refused}`);
        void thread.terminate();
      },
      () => {}, // The thread has ended: its calls are refused.
    );
    return thread;
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
