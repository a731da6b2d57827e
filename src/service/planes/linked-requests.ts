/**
 * Requests that a plane receives directly from the threads that have the clients' connections: each such thread has a
 * link, with a receiver of its own. When a link ends, its clients are gone.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Services } from '../../threads/channel.ts';
import { linkOver } from '../../threads/thread.ts';
import type { ForLink, ToExchange } from './messages.ts';
import { type Post, RequestReceiver, type Route } from './request-receiver.ts';

export class LinkedRequests {
  readonly #route: Route;
  readonly #receivers = new Set<RequestReceiver>();

  constructor(route: Route) {
    this.#route = route;
  }

  /** For the channel to the main thread, which stays. */
  receiver(post: Post): RequestReceiver {
    const receiver = new RequestReceiver(this.#route, post);
    this.#receivers.add(receiver);
    return receiver;
  }

  /** Serves the thread at the other end of this port. `services` are those beyond requests. */
  link(port: MessagePort, services: Services = {}): void {
    const exchange = (message: ToExchange) => receiver.take(message);
    const link = linkOver<ForLink>(port, { services: { ...services, exchange }, gather: 0 });
    const receiver = this.receiver((message, moved = []) => link.notifyThisTurn(moved, 'exchange', message));
    link.hold(false); // The thread may end although it is linked.
    void link.ended.then(() => {
      receiver.end();
      this.#receivers.delete(receiver);
    });
    link.notify('linked');
  }

  /** Makes the thread that has the client's connection answer that the body took too long. */
  late(request: Parameters<RequestReceiver['late']>[0]): void {
    for (const receiver of this.#receivers) receiver.late(request);
  }
}
