/** The composition root: open, connect the planes, listen, drain, close. */
import { Chores } from '../base/chores.ts';
import { describe } from '../base/described-error.ts';
import { giveBackSpareMemory } from '../base/spare-memory.ts';
import { NoSlotOpens } from '../keyring/root-key/root-key.ts';
import { openContext, type ServeParts, type ServiceContext } from './context.ts';
import { frontOf } from './front.ts';
import { bind, dashboardUrlOf, urlOf } from './listener/listening.ts';
import { replicationTold, serveMetrics } from './observation.ts';
import type { Running } from './running.ts';
import type { ServeConfig } from './settings/config.ts';

export type { ServeParts } from './context.ts';
export type { Running } from './running.ts';

const noteUsesEvery = 10_000;
const lookForReplicationEvery = 60_000;
/** How long requests in progress may take once the service is stopping; then their connections are cut. */
const longestDrain = 6_000;

/** If none of the root key’s slots opens, but one may later, the service waits for it, sealed. */
export async function serve(config: ServeConfig, parts: ServeParts): Promise<Running> {
  return serveOpen(config, parts).catch(async error => {
    if (!(error instanceof NoSlotOpens)) throw error;
    const { canBeUnsealed, serveSealed } = await import('./sealed.ts');
    if (!canBeUnsealed(error)) throw error;
    return serveSealed(config, parts, error, (later, wrapper, beforeListening) =>
      serveOpen(later, { ...parts, wrapper }, beforeListening),
    );
  });
}

async function serveOpen(
  config: ServeConfig,
  parts: ServeParts,
  beforeListening: () => Promise<void> = async () => {},
): Promise<Running> {
  const context = await openContext(config, parts);
  return listen(context, beforeListening).catch(async error => {
    await context.abandon();
    throw error;
  });
}

async function listen(context: ServiceContext, beforeListening: () => Promise<void>): Promise<Running> {
  const { config, tls, parts, management, uses, opened, release } = context;
  const { report } = parts;
  let draining = false;
  const onError = (error: unknown, requestId?: string) => report(describe(error), requestId);
  const front = await frontOf(context, { draining: () => draining, onError });
  const { domain, listener } = front;
  const ready = await management.begin({
    ledger: domain.ledger,
    failed: address => domain.attempts.learn(address),
    refuse: front.refuse,
    onLate: front.onLate,
    data: context.managementData,
  });
  await front.begin();
  if (parts.sparing) void giveBackSpareMemory();
  await beforeListening();
  const unbound = await bind(listener, config);
  const metrics = await serveMetrics(context, domain, front.openConnections).catch(async error => {
    await listener.close();
    unbound();
    throw error;
  });
  tls?.onChange(front.useCertificate);
  const tellReplication = replicationTold(opened.store, report);
  const chores = new Chores(onError)
    .every(noteUsesEvery, () => domain.authenticate.noteUses())
    .every(lookForReplicationEvery, tellReplication);
  chores.once(tellReplication);
  const url = urlOf(listener, config, tls !== null);
  const dashboardUrl = dashboardUrlOf(url, config);
  return {
    url,
    dashboardUrl,
    setupUrl: ready.setupToken === null ? null : `${dashboardUrl}/setup#${ready.setupToken}`,
    metricsUrl: metrics?.url ?? null,
    routes: [...front.routes, ...ready.routes],
    isSealed: () => false,
    reload: async () => tls?.reload(),
    stop: async () => {
      draining = true;
      management.drain();
      await chores.stop();
      tls?.close();
      await front.drain(longestDrain);
      unbound();
      await metrics?.close();
      await uses.stop();
      await front.close();
      await domain.authenticate.noteUses().catch(onError);
      await domain.ledger.drain();
      await management.plane.stop(); // It writes the last checkpoint, which signs the whole log.
      await opened.store.close();
      release();
    },
  };
}
