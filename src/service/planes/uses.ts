/**
 * The main thread's view of the plane of uses. Its thread starts with the first use. If it dies, its open calls are
 * refused, and the next use starts another thread.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Uses as UsesOfVault } from '../../domain/reading.ts';
import type { ForwardAdmitted } from '../../http/listener/admitted-request.ts';
import type { OtherLedger } from '../../logs/ledger.ts';
import { type StartThread, type Thread, threadFile } from '../../threads/thread.ts';
import type { Report } from '../settings/report.ts';
import type { FromExchange, LedgerServices, PlaneData, UsesServices } from './messages.ts';
import { Plane } from './plane.ts';
import { UsesOrders, type UsesReader } from './uses-orders.ts';

/** What the plane of uses needs from the main thread. */
interface UsesParts extends UsesReader {
  readonly data: () => PlaneData;
}

/** In milliseconds: a stopping service does not wait longer. */
const longestStop = 5_000;

export class Uses implements UsesOfVault, OtherLedger {
  readonly plane: Plane<UsesServices>;
  readonly #report: Report;
  readonly #orders: UsesOrders;
  #data: (() => PlaneData) | null = null;

  constructor(report: Report, start?: StartThread) {
    this.#report = report;
    this.plane = new Plane({
      name: 'the plane of uses',
      file: threadFile(import.meta.url, 'uses-thread'),
      report,
      start,
      services: { exchange: (message: FromExchange) => this.#orders.take(message) },
      gather: 0,
      onEnded: () => this.#orders.failAll(),
    });
    this.#orders = new UsesOrders({
      channel: () => this.plane.thread,
      start: () => this.#start(),
      isStopping: () => this.plane.isStopping,
    });
  }

  begin({ data, ...reader }: UsesParts): void {
    this.#data = data;
    this.#orders.begin(reader);
  }

  /** Connects a reader's thread to the plane. */
  link(port: MessagePort): void {
    if (this.plane.isStopping) port.close();
    else (this.plane.thread ?? this.#start()).notifyMoving([port], 'link', port);
  }

  get gateway(): ForwardAdmitted {
    return this.#orders.gateway;
  }

  get vaultUses(): UsesOfVault['vaultUses'] {
    return this.#orders.vaultUses;
  }

  get keyUses(): UsesOfVault['keyUses'] {
    return this.#orders.keyUses;
  }

  get leaseUses(): UsesOfVault['leaseUses'] {
    return this.#orders.leaseUses;
  }

  get runUses(): UsesOfVault['runUses'] {
    return this.#orders.runUses;
  }

  settle = (): Promise<void> => this.#ask('settle');

  writeHourCounts = (): Promise<void> => this.#ask('writeHourCounts');

  /** Resolves once its work is recorded and the thread has ended. */
  stop(): Promise<void> {
    return this.plane.stop(longestStop);
  }

  /** A stopped plane has already recorded everything. */
  async #ask(what: keyof LedgerServices): Promise<void> {
    await this.plane.thread?.call(what).catch(error => {
      if (!this.plane.isStopping) throw error;
    });
  }

  #start(): Thread<UsesServices> {
    const thread = this.plane.start();
    void this.plane.begin(thread, this.#data!()).then(
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
