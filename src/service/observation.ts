/** The observability of a running service: metrics, and a warning about asynchronous replication. */
import packageJson from '../../package.json' with { type: 'json' };
import type { Replication } from '../contract/overview.ts';
import type { ReadingDomain } from '../domain/reading.ts';
import { exposition } from '../metrics/exposition.ts';
import { listenForScrapes } from '../metrics/listener.ts';
import type { Store } from '../store/store.ts';
import type { ServiceContext } from './context.ts';
import { refusedPort } from './listener/listening.ts';
import { readingGauges } from './planes/gauges.ts';
import type { Report } from './settings/report.ts';

/** Null if no port is configured. */
export async function serveMetrics(
  { config, management, readers, meters, opened }: ServiceContext,
  { ledger }: ReadingDomain,
  openConnections: () => Promise<number>,
) {
  const port = config['metrics-port'];
  if (port === null) return null;
  const gauges = readingGauges(opened.meter, {
    ledger,
    openConnections,
    readers: () => readers?.ready ?? 1,
    isManagementUp: () => management.isUp,
  });
  const ofPlanes = [opened.meter, meters.management, meters.uses, ...meters.readers];
  const buffers = ofPlanes.map(({ buffer }) => buffer);
  const info = { version: packageJson.version, node: process.versions.node };
  const place = { host: config['metrics-host'], port };
  const listener = await listenForScrapes(place, async () => {
    await gauges.sample();
    return exposition(buffers, info);
  }).catch(error => {
    throw refusedPort('--metrics-port', port, error);
  });
  return {
    url: listener.url,
    close: async () => {
      gauges.stop();
      await listener.close();
    },
  };
}

/** Warns the operator of the risk of asynchronous replication, each time that it begins. */
export function replicationTold({ server }: Pick<Store, 'server'>, report: Report): () => Promise<void> {
  let told: Replication | null = null;
  return async () => {
    const found = (await server?.replication()) ?? null;
    if (found === 'asynchronous' && told !== found)
      report(
        'PostgreSQL replicates asynchronously: a failover can lose changes and log entries that were acknowledged; set synchronous_standby_names',
      );
    told = found;
  };
}
