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
import { failureOf } from '../../http/listener/errors.ts';
import { receivedFailure, sentFailure } from '../../threads/failures.ts';
import { usesGauges } from './gauges.ts';
import type { PlaneData, ReadingServices, UseOrder, UseOutcome } from './messages.ts';
import { openInPlane } from './plane-data.ts';
import { type BegunPlane, planeSide, type ToReading } from './plane-side.ts';

/** How long cancelled calls may take to be recorded. */
const longestStop = 2_000;

interface Made extends BegunPlane<null> {
  readonly domain: UsesDomain;
  use(order: UseOrder): Promise<UseOutcome>;
}

export function usesPlane(port: MessagePort): void {
  planeSide<PlaneData, null, Made, ReadingServices>(port, {
    begin,
    gather: 0,
    services: ({ whenMade }) => ({
      use: async (order: UseOrder) => (await whenMade.catch(notBegun)).use(order),
      settle: async () => (await whenMade).domain.ledger.settle(),
      writeHourCounts: async () => (await whenMade).domain.ledger.writeHourCounts(),
    }),
  });
}

function notBegun(): never {
  throw new Failure('UNAVAILABLE', { retryAfter: 1 });
}

async function begin(data: PlaneData, { sibling, onError }: ToReading<ReadingServices>): Promise<Made> {
  const opened = await openInPlane(data, sibling);
  const egress = egressInto(data.config['allow-private-webhooks']);
  const broker = brokerWith({ egress, resolve: systemResolve() });
  const domain = usesDomainWith({ ...opened, broker });
  const chores = new Chores(onError);
  const gauges =
    data.config['metrics-port'] === null ? null : usesGauges(opened.meter, domain.ledger, chores);
  const underWay = new Set<Promise<unknown>>();
  return {
    begun: null,
    domain,
    failed: () => {}, // No caller is authenticated here.
    use: order => {
      const made = carryOut(domain, order).finally(() => underWay.delete(made));
      underWay.add(made);
      return made;
    },
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
  { vaultUses, keyUses }: UsesDomain,
  { of, facts, reader, asked }: UseOrder,
): Promise<UseResult<object>> {
  const request = { ...facts, reader };
  if ('call' in asked) return vaultUses.use({ ...request, call: asked.call });
  if ('key' in asked) return keyUses.use({ ...request, asked: asked.key });
  const unread = receivedFailure(asked.unread);
  return of === 'key'
    ? keyUses.use({ ...request, asked: unread })
    : vaultUses.use({ ...request, call: unread });
}
