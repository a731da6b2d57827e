/**
 * The reading plane's view of the management plane: a thread of its own, which it starts, hands requests to, and starts
 * anew where it dies. Reads go on meanwhile.
 */
import type { RequestListener } from 'node:http';
import { describe, type Report, StartRefused, UsageError } from '../report.ts';
import type { Sibling } from '../store/store.ts';
import { Forwarding, type ForwardingParts } from './forwarding.ts';
import { inThread, type Link, type Start } from './link.ts';
import type { FromManagement, Handed, LedgerCall, ToManagement } from './messages.ts';

/** What the management plane asks of the reading plane. */
export interface ReadingSide extends Pick<ForwardingParts, 'refuse' | 'onLate'> {
  readonly ledger: Readonly<Record<LedgerCall, () => Promise<void>>>;
  /** Somebody failed to prove who they are over there. */
  readonly failed: (address: string) => void;
  /** What a thread that is started anew begins with. */
  readonly handed: () => Handed;
}

export interface Ready {
  readonly routes: readonly string[];
  readonly setupToken: string | null;
}

const restartAfter = 1_000;

export type StartPlane = Start<ToManagement, FromManagement>;

export class Management {
  readonly #report: Report;
  readonly #forwarding: Forwarding;
  readonly #told: ((touched: readonly string[]) => void)[] = [];
  readonly #startPlane: StartPlane;
  #link: Link<ToManagement>;
  #reading: ReadingSide | null = null;
  #ready = Promise.withResolvers<Ready>();
  #isUp = false;
  #hasBegun = false;
  #stopping = false;

  constructor(report: Report, startPlane: StartPlane = inThread('management-thread')) {
    this.#report = report;
    this.#startPlane = startPlane;
    this.#forwarding = new Forwarding({
      post: (message, transfer = []) => this.#link.post(message, transfer),
      isUp: () => this.#isUp,
      refuse: (request, response) => this.#reading!.refuse(request, response),
      onLate: request => this.#reading!.onLate(request),
    });
    this.#ready.promise.catch(() => {});
    this.#link = this.#start();
  }

  /** For the store: what is committed here is known over there, and the other way round. */
  get sibling(): Sibling {
    return {
      tell: ids => this.#post({ kind: 'touched', ids }),
      onTold: listener => void this.#told.push(listener),
    };
  }

  get forward(): RequestListener {
    return this.#forwarding.forward;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Whether it was ready before. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  readonly tellFailed = (address: string): void => this.#post({ kind: 'failed', address });

  begin(reading: ReadingSide): Promise<Ready> {
    this.#reading = reading;
    this.#begin();
    return this.#ready.promise;
  }

  drain(): void {
    this.#post({ kind: 'drain' });
  }

  /** Resolves once it has finished what it does, and is gone. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#post({ kind: 'stop' });
    await this.#link.ended;
  }

  /** Without finishing anything. */
  async terminate(): Promise<void> {
    this.#stopping = true;
    await this.#link.terminate();
  }

  #begin(): void {
    const handed = this.#reading!.handed();
    this.#link.post({ kind: 'begin', handed }, handed.writer === null ? [] : [handed.writer]);
  }

  #post(message: ToManagement): void {
    this.#link.post(message, []);
  }

  #start(): Link<ToManagement> {
    const link = this.#startPlane({
      onMessage: message => this.#take(message),
      onError: error => this.#report(`the management plane failed: ${describe(error)}`),
    });
    void link.ended.then(() => this.#ended());
    return link;
  }

  #ended(): void {
    this.#isUp = false;
    this.#forwarding.failAll();
    this.#ready.reject(new StartRefused('the management plane ended before it was ready'));
    if (this.#stopping) return;
    setTimeout(() => {
      if (this.#stopping) return;
      this.#ready = Promise.withResolvers<Ready>();
      this.#ready.promise.catch(() => {});
      this.#link = this.#start();
      this.#begin();
    }, restartAfter).unref();
  }

  #take(message: FromManagement): void {
    switch (message.kind) {
      case 'touched':
        for (const listener of this.#told) listener(message.ids);
        return;
      case 'failed':
        this.#reading?.failed(message.address);
        return;
      case 'report':
        this.#report(message.line, message.requestId);
        return;
      case 'call':
        void this.#answer(message.call, message.what);
        return;
      case 'ready':
        this.#isUp = true;
        this.#hasBegun = true;
        this.#ready.resolve(message);
        return;
      case 'refused':
        this.#stopping = true;
        this.#ready.reject(new (message.isUsage ? UsageError : StartRefused)(message.line));
        return;
      default:
        this.#forwarding.take(message);
    }
  }

  async #answer(call: number, what: LedgerCall): Promise<void> {
    const error = await this.#reading!.ledger[what]().then(
      () => null,
      (reason: Error) => reason.message,
    );
    this.#post({ kind: 'settled', call, error });
  }
}
