/**
 * The reading plane's view of the management plane: a separate thread, which it starts, forwards requests to, and
 * restarts if it dies. Reads continue in the meantime.
 */
import type { RequestListener } from 'node:http';
import type { MessagePort } from 'node:worker_threads';
import { type StartThread, threadFile } from '../../threads/thread.ts';
import { type Report, StartRefused, UsageError } from '../settings/report.ts';
import type { ForManagement, LedgerServices, ManagementData, ManagementServices, Ready } from './messages.ts';
import { Plane } from './plane.ts';
import { RequestForwarder, type RequestForwarderParts } from './request-forwarder.ts';

/** What the management plane needs from the reading plane. */
export interface ReadingSide extends Pick<RequestForwarderParts, 'refuse' | 'onLate'> {
  readonly ledger: LedgerServices;
  /** Called when a caller failed to authenticate on the management plane. */
  readonly failed: (address: string) => void;
  /** The data that a new thread begins with. */
  readonly data: () => ManagementData;
}

const restartAfter = 1_000;

export class Management {
  readonly plane: Plane<ManagementServices>;
  readonly #report: Report;
  readonly #forwarding: RequestForwarder;
  #reading: ReadingSide | null = null;
  /** The ports of readers that wait for the plane. */
  #links: MessagePort[] = [];
  #isUp = false;
  #hasBegun = false;

  constructor(report: Report, start?: StartThread) {
    this.#report = report;
    const services: Omit<ForManagement, 'touched' | 'failed' | 'report'> = {
      exchange: message => this.#forwarding.take(message),
      settle: () => this.#reading!.ledger.settle(),
      writeHourCounts: () => this.#reading!.ledger.writeHourCounts(),
    };
    this.plane = new Plane({
      name: 'the management plane',
      file: threadFile(import.meta.url, 'management-thread'),
      report,
      start,
      services,
      onEnded: () => this.#ended(),
    });
    this.#forwarding = new RequestForwarder({
      post: (message, transfer = []) => this.plane.thread?.notifyThisTurn(transfer, 'exchange', message),
      isUp: () => this.#isUp,
      refuse: (request, response) => this.#reading!.refuse(request, response),
      onLate: request => this.#reading!.onLate(request),
    });
    this.plane.start();
  }

  get forward(): RequestListener {
    return this.#forwarding.forward;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Whether it has been ready at least once. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  async begin(reading: ReadingSide): Promise<Ready> {
    this.#reading = reading;
    this.plane.onFailed(reading.failed);
    return this.#begin();
  }

  /** Connects a reader's thread to the plane, as soon as there is one. */
  link(port: MessagePort): void {
    if (this.plane.isStopping) port.close();
    else if (this.#isUp) this.plane.thread?.notifyMoving([port], 'link', port);
    else this.#links.push(port);
  }

  drain(): void {
    this.plane.thread?.notify('drain');
  }

  async #begin(): Promise<Ready> {
    const thread = this.plane.thread;
    const beginning =
      thread === null ? null : await this.plane.begin(thread, this.#reading!.data()).catch(() => null);
    if (beginning === null) throw new StartRefused('the management plane ended before it was ready');
    if ('refused' in beginning) throw new (beginning.isUsage ? UsageError : StartRefused)(beginning.refused);
    this.#isUp = true;
    this.#hasBegun = true;
    for (const port of this.#links.splice(0)) this.link(port);
    return beginning.begun;
  }

  #ended(): void {
    this.#isUp = false;
    this.#forwarding.failAll();
    // If it never began, the start has failed.
    if (this.#hasBegun) setTimeout(() => this.#restart(), restartAfter).unref();
  }

  #restart(): void {
    if (this.plane.isStopping) return;
    this.plane.start();
    this.#begin().catch(async (error: Error) => {
      this.#report(`the management plane could not start: ${error.message}`);
      await this.plane.thread?.terminate(); // Its end starts the next attempt.
    });
  }
}
