/**
 * Gauges: measured on the reading plane at each scrape, and on the other planes at intervals, because they may be busy
 * during a scrape.
 */
import type { Chores } from '../../base/chores.ts';
import type { About } from '../../contract/overview.ts';
import { signedAt } from '../../logs/checkpoints.ts';
import type { Ledger } from '../../logs/ledger.ts';
import { livingLeaseStates, soon } from '../../metrics/catalogue.ts';
import { eventLoopOf } from '../../metrics/event-loop.ts';
import type { Meter } from '../../metrics/meter.ts';
import { readerName } from '../../metrics/planes.ts';
import type { Strongroom } from '../opening/open.ts';

const lookEvery = 10_000;
const countEvery = 60_000;
const proveEvery = 24 * 3_600_000;
/** How long after its end a credential counts as late. */
const lateAfter = 60_000;
const day = 24 * 3_600_000;

interface Watched {
  readonly ledger: Pick<Ledger, 'waiting'>;
  readonly openConnections: () => Promise<number>;
  /** How many readers are ready; the main thread counts as one if it reads itself. */
  readonly readers: () => number;
  readonly isManagementUp: () => boolean;
}

export function readingGauges(meter: Meter, { ledger, openConnections, readers, isManagementUp }: Watched) {
  const eventLoop = eventLoopOf(meter, 'reading');
  const queue = meter.gauge('strongroom_log_queue_entries', { plane: 'reading' });
  const connections = meter.gauge('strongroom_open_connections', {});
  const ready = meter.gauge('strongroom_readers', {});
  const up = meter.gauge('strongroom_management_up', {});
  const memory = meter.gauge('process_resident_memory_bytes', {});
  const processor = meter.gauge('process_cpu_seconds_total', {});
  meter.gauge('process_start_time_seconds', {})(Math.round(Date.now() / 1000 - process.uptime()));
  return {
    sample: async () => {
      eventLoop.sample();
      queue(ledger.waiting);
      connections(await openConnections());
      ready(readers());
      up(isManagementUp() ? 1 : 0);
      memory(process.memoryUsage.rss());
      const { user, system } = process.cpuUsage();
      processor((user + system) / 1e6);
    },
    stop: eventLoop.stop,
  };
}

export function readerGauges(
  meter: Meter,
  number: number,
  ledger: Pick<Ledger, 'waiting'>,
  chores: Chores,
): { stop(): void } {
  const plane = readerName(number);
  const eventLoop = eventLoopOf(meter, plane);
  const queue = meter.gauge('strongroom_log_queue_entries', { plane });
  chores.every(lookEvery, async () => {
    eventLoop.sample();
    queue(ledger.waiting);
  });
  return eventLoop;
}

export function usesGauges(meter: Meter, ledger: Pick<Ledger, 'waiting'>, chores: Chores): { stop(): void } {
  const eventLoop = eventLoopOf(meter, 'uses');
  const queue = meter.gauge('strongroom_log_queue_entries', { plane: 'uses' });
  chores.every(lookEvery, async () => {
    eventLoop.sample();
    queue(ledger.waiting);
  });
  return eventLoop;
}

export function managementGauges(
  { store, domain, meter, now }: Strongroom,
  backups: () => About['backups'],
  chores: Chores,
): { stop(): void } {
  const eventLoop = eventLoopOf(meter, 'management');
  const queue = meter.gauge('strongroom_log_queue_entries', { plane: 'management' });
  const checkpoint = meter.gauge('strongroom_checkpoint_timestamp_seconds', {});
  const backup = meter.gauge('strongroom_backup_timestamp_seconds', {});
  const backupProof = meter.gauge('strongroom_backup_proof_timestamp_seconds', {});
  const expiring = soon.map(
    within =>
      [Number.parseInt(within, 10), meter.gauge('strongroom_resources_expiring', { within })] as const,
  );
  const deliveries = (['pending', 'dead'] as const).map(
    state => [state, meter.gauge('strongroom_webhook_deliveries', { state })] as const,
  );

  const leases = livingLeaseStates.map(
    state => [state, meter.gauge('strongroom_leases', { state })] as const,
  );
  const late = meter.gauge('strongroom_leases_late', {});
  const failing = meter.gauge('strongroom_issuers_failing', {});

  async function look(): Promise<void> {
    eventLoop.sample();
    queue(domain.ledger.waiting);
    const { last_at = null, proven_at = null } = backups() ?? {};
    if (last_at !== null) backup(Date.parse(last_at) / 1000);
    if (proven_at !== null) backupProof(Date.parse(proven_at) / 1000);
  }
  async function count(): Promise<void> {
    const newest = await store.logs.lastCheckpoint();
    if (newest !== undefined) checkpoint(signedAt(newest) / 1000);
    for (const [days, set] of expiring)
      set(await store.overview.expiringWithin({ from: now(), to: now() + days * day }));
    const states = await store.deliveries.byState();
    for (const [state, set] of deliveries) set(states.get(state) ?? 0);
    const found = await store.leases.counts(now() - lateAfter);
    for (const [state, set] of leases) set(found.states.get(state) ?? 0);
    late(found.late);
    failing(found.failingIssuers);
  }

  chores.every(lookEvery, look).every(countEvery, count);
  chores.every(proveEvery, () => domain.verifyLogs.prove());
  chores.once(count);
  chores.once(look);
  return eventLoop;
}
