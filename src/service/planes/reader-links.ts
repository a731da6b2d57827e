/**
 * A reader's own links to the management plane and to the plane of uses: requests and uses take these, and not the way
 * through the main thread. The main thread only passes on a port when a link begins. While the management plane is away,
 * its requests are refused, and a new link is offered until it is back.
 */
import type { RequestListener } from 'node:http';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { linkOver, type Thread } from '../../threads/thread.ts';
import type { FromExchange, ManagementExchange, UsesExchange } from './messages.ts';
import { RequestForwarder, type RequestForwarderParts } from './request-forwarder.ts';
import { UsesOrders } from './uses-orders.ts';

/** Gives the other end of a link to a plane. */
export type Connect = (plane: 'management' | 'uses', port: MessagePort) => void;

const linkAgainAfter = 500;
/** A reader that starts while the management plane is away serves reads in the meantime. */
const longestWait = 2_000;

export class ManagementLink {
  readonly #connect: Connect;
  readonly #forwarding: RequestForwarder;
  #link: Thread<ManagementExchange> | null = null;
  #isUp = false;
  #isClosing = false;
  #whenUp = Promise.withResolvers<void>();

  /** `share`: how many readers share the limits of the process. */
  constructor(connect: Connect, parts: Pick<RequestForwarderParts, 'refuse' | 'onLate'>, share: number) {
    this.#connect = connect;
    this.#forwarding = new RequestForwarder({
      ...parts,
      share,
      post: (message, moved = []) => this.#link?.notifyThisTurn(moved, 'exchange', message),
      isUp: () => this.#isUp,
    });
  }

  get forward(): RequestListener {
    return this.#forwarding.forward;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Resolves once the management plane answers, or after a while. */
  async open(): Promise<void> {
    this.#begin();
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, longestWait).unref();
    await Promise.race([this.#whenUp.promise, patience.promise]);
    clearTimeout(timer);
  }

  close(): void {
    this.#isClosing = true;
    void this.#link?.terminate();
  }

  #begin(): void {
    if (this.#isClosing) return;
    const { port1, port2 } = new MessageChannel();
    const link = linkOver<ManagementExchange>(port1, {
      services: {
        exchange: (message: FromExchange) => this.#forwarding.take(message),
        linked: () => {
          this.#isUp = true;
          this.#whenUp.resolve();
        },
      },
    });
    this.#link = link;
    void link.ended.then(() => {
      this.#isUp = false;
      this.#forwarding.failAll();
      setTimeout(() => this.#begin(), linkAgainAfter).unref();
    });
    this.#connect('management', port2);
  }
}

/** The orders of a reader to the plane of uses, which is linked at the first use. */
export class UsesLink {
  readonly orders: UsesOrders;
  readonly #connect: Connect;
  #link: Thread<UsesExchange> | null = null;
  #isClosing = false;

  constructor(connect: Connect, share: number) {
    this.#connect = connect;
    this.orders = new UsesOrders({
      channel: () => (this.#link?.isOver === false ? this.#link : null),
      start: () => this.#begin(),
      isStopping: () => this.#isClosing,
      share,
    });
  }

  close(): void {
    this.#isClosing = true;
    void this.#link?.terminate();
  }

  /** What is sent before the plane has started waits in the port. */
  #begin(): Thread<UsesExchange> {
    const { port1, port2 } = new MessageChannel();
    const services = { exchange: (message: FromExchange) => this.orders.take(message), linked: () => {} };
    const link = linkOver<UsesExchange>(port1, { services, gather: 0 });
    this.#link = link;
    void link.ended.then(() => this.orders.failAll());
    this.#connect('uses', port2);
    return link;
  }
}
