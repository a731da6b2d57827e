/** The observability of a running service: traces, metrics, and a warning about asynchronous replication. */
import type { Server } from 'node:http';
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

/** The tracing code is loaded only if traces are configured. */
export async function tracingOf({ config, parts, opened }: ServiceContext) {
  if (config.tracing === null) return null;
  const { startTracing } = await import('../tracing/tracing.ts');
  const { version } = packageJson;
  return startTracing({ settings: config.tracing, version, meter: opened.meter, report: parts.report });
}

/** Null if no port is configured. */
export async function serveMetrics(
  { config, management, meters, opened }: ServiceContext,
  { ledger }: ReadingDomain,
  server: Server,
) {
  const port = config['metrics-port'];
  if (port === null) return null;
  const gauges = readingGauges(opened.meter, { ledger, server, isManagementUp: () => management.isUp });
  const buffers = [opened.meter, meters.management, meters.uses].map(({ buffer }) => buffer);
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
