/**
 * The plane of uses: brokered calls and the use of keys, on its own event loop, with its own chains in the log. Neither
 * their cost nor the behaviour of other services affects vault reads.
 */
import type { MessagePort } from 'node:worker_threads';
import { egressInto } from '../../access/egress.ts';
import { Chores } from '../../base/chores.ts';
import { Failure } from '../../contract/errors.ts';
import { type UsesDomain, usesDomainWith } from '../../domain/reading.ts';
import type { UseResult } from '../../domain/uses/recorded-uses.ts';
import { brokerWith } from '../../egress/brokered-call.ts';
import { systemResolve } from '../../egress/connections.ts';
import { gatewayListener } from '../../http/gateway/uses-plane.ts';
import { failureOf } from '../../http/listener/errors.ts';
import { receivedFailure, sentFailure } from '../../threads/failures.ts';
import { dialInto } from '../opening/dial.ts';
import { usesGauges } from './gauges.ts';
import { LinkedRequests } from './linked-requests.ts';
import type { ForUses, PlaneData, ToExchange, UseOrder, UseOutcome } from './messages.ts';
import { openInPlane } from './plane-data.ts';
import { type BegunPlane, planeSide, type ToReading } from './plane-side.ts';
import type { RequestReceiver } from './request-receiver.ts';
import { newsIn } from './shared-news.ts';

/** How long cancelled calls may take to be recorded. */
const longestStop = 2_000;

interface Made extends BegunPlane<null> {
  readonly domain: UsesDomain;
  use(order: UseOrder): Promise<UseOutcome>;
  /** Receives the requests to the gateway. */
  readonly receiver: RequestReceiver;
  /** Serves a reader of its own thread. */
  link(port: MessagePort): void;
}

export function usesPlane(port: MessagePort): void {
  planeSide<PlaneData, null, Made, ForUses>(port, {
    begin,
    gather: 0,
    services: ({ whenMade }) => ({
      exchange: (message: ToExchange) =>
        void whenMade.then(
          made => made.receiver.take(message),
          () => {},
        ),
      use: async (order: UseOrder) => (await whenMade.catch(notBegun)).use(order),
      link: (port: MessagePort) =>
        void whenMade.then(
          made => made.link(port),
          () => port.close(),
        ),
      settle: async () => (await whenMade).domain.ledger.settle(),
      writeHourCounts: async () => (await whenMade).domain.ledger.writeHourCounts(),
    }),
  });
}

function notBegun(): never {
  throw new Failure('UNAVAILABLE', { retryAfter: 1 });
}

async function begin(data: PlaneData, { channel, sibling, onError }: ToReading<ForUses>): Promise<Made> {
  const news = newsIn(data);
  const opened = await openInPlane(data, news?.beside(sibling) ?? sibling);
  const egress = egressInto(data.config['allow-private-webhooks']);
  const broker = brokerWith({ egress, resolve: systemResolve() });
  const dial = dialInto(data.config['allow-private-leases']);
  const domain = usesDomainWith({ ...opened, broker, dial });
  const chores = new Chores(onError);
  const gauges =
    data.config['metrics-port'] === null ? null : usesGauges(opened.meter, domain.ledger, chores);
  const underWay = new Set<Promise<unknown>>();
  const listen = gatewayListener({ gateway: domain.gateway, newId: opened.newId, onError });
  const requests = new LinkedRequests((request, response, admitted) => listen(request, response, admitted!));
  const use = (order: UseOrder) => {
    const made = carryOut(domain, order).finally(() => underWay.delete(made));
    underWay.add(made);
    return made;
  };
  return {
    begun: null,
    domain,
    receiver: requests.receiver((message, moved = []) => channel.notifyThisTurn(moved, 'exchange', message)),
    link: port => requests.link(port, { use }),
    failed: () => {}, // No caller is authenticated here.
    use,
    stop: async () => {
      gauges?.stop();
      await chores.stop();
      await broker.close();
      const over = new Promise(resolve => setTimeout(resolve, longestStop).unref());
      await Promise.race([Promise.allSettled(underWay), over]);
      await domain.ledger.drain();
      await domain.ledger.writeHourCounts().catch(() => {});
      await domain.closeThreads();
      await opened.store.close();
    },
  };
}

async function carryOut(domain: UsesDomain, order: UseOrder): Promise<UseOutcome> {
  const result = await resultOf(domain, order).catch(error => {
    throw failureOf(error);
  });
  const { status, receipt, requestId } = result;
  return 'failure' in result
    ? { status, receipt, requestId, answer: null, failure: sentFailure(result.failure) }
    : { status, receipt, requestId, answer: result.answer, failure: null };
}

async function resultOf(
  { vaultUses, keyUses, leaseUses, runUses }: UsesDomain,
  { of, facts, reader, asked }: UseOrder,
): Promise<UseResult<object>> {
  const request = { ...facts, reader };
  if ('call' in asked) return vaultUses.use({ ...request, call: asked.call });
  if ('key' in asked) return keyUses.use({ ...request, asked: asked.key });
  if ('operation' in asked) return keyUses.operate({ ...request, asked: asked.operation });
  if ('lease' in asked) return leaseUses.use({ ...request, asked: asked.lease });
  if ('run' in asked) return runUses.use({ ...request, asked: asked.run });
  const unread = receivedFailure(asked.unread);
  if (of === 'operation') return keyUses.operate({ ...request, asked: unread });
  if (of === 'lease') return leaseUses.use({ ...request, asked: unread });
  if (of === 'run') return runUses.use({ ...request, asked: unread });
  return of === 'key'
    ? keyUses.use({ ...request, asked: unread })
    : vaultUses.use({ ...request, call: unread });
}
