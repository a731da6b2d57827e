/**
 * The reading plane's view of the plane of uses. Its thread starts with the first use; one that dies takes what it held
 * with it, which is refused, and the next use starts another.
 */
import { Failure } from '../contract/errors.ts';
import type { Uses as UsesOfVault } from '../domain/reading.ts';
import type { RequestFacts } from '../domain/reads/vault-request.ts';
import type { UseResult } from '../domain/uses/using.ts';
import type { OtherLedger } from '../logs/ledger.ts';
import { describe, type Report } from '../report.ts';
import type { Sibling } from '../store/store.ts';
import { batched } from './batches.ts';
import { arrived, crossing } from './crossing.ts';
import { inThread, type Link, type Start } from './link.ts';
import type { HandedData, LedgerCall } from './messages.ts';
import type { Asked, FromUses, Order, Outcome, ToUses } from './use-messages.ts';

/** What the plane of uses asks of the reading plane. */
export interface UsesParts {
  readonly handed: () => HandedData;
  /** Records that a request was not served. */
  readonly refuse: (facts: RequestFacts, failure: Failure) => Promise<UseResult<never>>;
  /** Somebody failed to prove who they are over there. */
  readonly failed: (address: string) => void;
}

export type StartUses = Start<ToUses, FromUses>;

/** In milliseconds: whoever stops the service does not wait for longer. */
const longestStop = 5_000;

interface Waiting {
  readonly facts: RequestFacts;
  readonly resolve: (result: UseResult<never> | Promise<UseResult<never>>) => void;
  readonly reject: (failure: Failure) => void;
}

export class Uses implements UsesOfVault, OtherLedger {
  readonly #report: Report;
  readonly #startPlane: StartUses;
  readonly #told: ((touched: readonly string[]) => void)[] = [];
  readonly #waiting = new Map<number, Waiting>();
  readonly #calls = new Map<number, PromiseWithResolvers<void>>();
  #parts: UsesParts | null = null;
  #link: Link<ToUses> | null = null;
  #last = 0;
  #stopping = false;

  constructor(report: Report, startPlane: StartUses = inThread('uses-thread')) {
    this.#report = report;
    this.#startPlane = startPlane;
  }

  begin(parts: UsesParts): void {
    this.#parts = parts;
  }

  /** For the store: what is committed here is known over there, and the other way round. */
  get sibling(): Sibling {
    return {
      tell: ids => this.#link?.post({ kind: 'touched', ids }, []),
      onTold: listener => void this.#told.push(listener),
    };
  }

  readonly tellFailed = (address: string): void => this.#link?.post({ kind: 'failed', address }, []);

  readonly vaultUses: UsesOfVault['vaultUses'] = {
    use: ({ call, ...facts }) =>
      this.#order('secret', facts, call instanceof Failure ? { unread: crossing(call) } : { call }),
  };

  readonly keyUses: UsesOfVault['keyUses'] = {
    use: ({ asked, ...facts }) =>
      this.#order('key', facts, asked instanceof Failure ? { unread: crossing(asked) } : { key: asked }),
  };

  settle = (): Promise<void> => this.#ask('settle');

  writeHourCounts = (): Promise<void> => this.#ask('writeHourCounts');

  /** Resolves once what it does is recorded, and it is gone. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const link = this.#link;
    if (link === null) return;
    link.post({ kind: 'stop' }, []);
    const patience = setTimeout(() => void link.terminate(), longestStop);
    await link.ended;
    clearTimeout(patience);
  }

  // Many are let go at once. What was given up meanwhile is not made.
  readonly #send = batched<Order>(orders => {
    const wanted = orders.filter(({ number }) => this.#waiting.has(number));
    if (wanted.length > 0) this.#link?.post({ kind: 'orders', orders: wanted }, []);
  });

  #order(of: Order['of'], facts: RequestFacts, asked: Asked): Promise<UseResult<never>> {
    if (this.#stopping) return this.#parts!.refuse(facts, lost());
    this.#link ??= this.#start();
    const number = ++this.#last;
    const { sender, requestId, route, method, tool, token, vaultId, keyId } = facts;
    const { address, userAgent } = sender;
    this.#send({
      number,
      of,
      facts: { sender: { address, userAgent }, requestId, route, method, tool, token, vaultId, keyId },
      asked,
    });
    return new Promise((resolve, reject) => this.#waiting.set(number, { facts, resolve, reject }));
  }

  #ask(what: LedgerCall): Promise<void> {
    if (this.#link === null) return Promise.resolve();
    const call = ++this.#last;
    const waiting = Promise.withResolvers<void>();
    this.#calls.set(call, waiting);
    this.#link.post({ kind: 'call', call, what }, []);
    return waiting.promise;
  }

  #start(): Link<ToUses> {
    const link = this.#startPlane({
      onMessage: message => this.#take(message),
      onError: error => this.#report(`the plane of uses failed: ${describe(error)}`),
    });
    const handed = this.#parts!.handed();
    link.post({ kind: 'begin', handed }, handed.writer === null ? [] : [handed.writer]);
    void link.ended.then(() => this.#ended());
    return link;
  }

  /** Whatever it held, nobody can say how far it got. */
  #ended(): void {
    this.#link = null;
    for (const { facts, resolve } of this.#waiting.values()) resolve(this.#parts!.refuse(facts, lost()));
    this.#waiting.clear();
    // One that was stopped has recorded all it did.
    for (const { resolve, reject } of this.#calls.values()) this.#stopping ? resolve() : reject(lost());
    this.#calls.clear();
  }

  #take(message: FromUses): void {
    switch (message.kind) {
      case 'touched':
        for (const listener of this.#told) listener(message.ids);
        return;
      case 'failed':
        this.#parts!.failed(message.address);
        return;
      case 'outcomes':
        for (const outcome of message.outcomes) this.#taken(outcome.number)?.resolve(resultOf(outcome));
        return;
      case 'lost':
        this.#taken(message.number)?.reject(arrived(message.failure));
        return;
      case 'settled':
        this.#settled(message.call, message.error);
        return;
      case 'report':
        this.#report(message.line);
        return;
      case 'not-begun':
        this.#report(`the plane of uses could not begin: ${message.line}`);
        void this.#link?.terminate();
    }
  }

  #taken(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    return waiting;
  }

  #settled(call: number, error: string | null): void {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    if (error === null) waiting?.resolve();
    else waiting?.reject(new Error(error));
  }
}

function lost(): Failure {
  return new Failure('UNAVAILABLE', { retryAfter: 1 });
}

function resultOf({ status, receipt, requestId, answer, failure }: Outcome): UseResult<never> {
  return failure === null
    ? { status: 200, answer: answer as never, receipt, requestId }
    : { status, failure: arrived(failure), receipt, requestId };
}
