/** The composition root: open, connect the planes, listen, drain, close. */
import type { FastifyInstance } from 'fastify';
import packageJson from '../../package.json' with { type: 'json' };
import { Chores } from '../base/chores.ts';
import { wallClock } from '../base/clock.ts';
import { describe } from '../base/described-error.ts';
import { makeFolder } from '../base/durable-file.ts';
import { giveBackSpareMemory } from '../base/spare-memory.ts';
import type { Replication } from '../contract/overview.ts';
import { type ReadingDomain, readingDomainWith } from '../domain/reading.ts';
import { lateAnswers } from '../http/client-errors.ts';
import { addressReader } from '../http/listener/request.ts';
import type { Timeouts } from '../http/listener/server.ts';
import { buildReadingApp } from '../http/reading-app.ts';
import { oauthSurface } from '../http/surface/oauth-issuer.ts';
import type { ReadingSurfaceParts } from '../http/surface/surface-parts.ts';
import { unavailableWith } from '../http/unavailable.ts';
import { exposition } from '../metrics/exposition.ts';
import { listenForScrapes, type MetricsListener } from '../metrics/listener.ts';
import { Meter } from '../metrics/meter.ts';
import { requestsByPath } from '../metrics/requests.ts';
import { lockFolder } from '../store/sqlite/folder-lock.ts';
import { among, type Store } from '../store/store.ts';
import type { StartThread } from '../threads/thread.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { checkBackups } from './backups/scheduled-backups.ts';
import {
  addressAdvice,
  bind,
  checkListener,
  connectionsOf,
  dashboardUrlOf,
  isEncrypted,
  refusedPort,
  urlOf,
} from './listener/listening.ts';
import { readinessOf } from './listener/readiness.ts';
import { addressesOf, oauthSettingsOf, siteReaderOf } from './listener/sign-on.ts';
import type { Tls } from './listener/tls.ts';
import { type Opened, type OpenParts, openData, withAskedPassphrase } from './opening/open-data.ts';
import { readingGauges } from './planes/gauges.ts';
import { Management } from './planes/management.ts';
import type { ManagementData, PlaneData, Ready } from './planes/messages.ts';
import { Uses } from './planes/uses.ts';
import { databasePath, inData, type ServeConfig, UsageError } from './settings/config.ts';
import type { Report } from './settings/report.ts';

export interface Running {
  readonly url: string;
  /** Where people open the dashboard. */
  readonly dashboardUrl: string;
  /** The one-time setup link; null once setup is complete. */
  readonly setupUrl: string | null;
  /** Where metrics are served; null where they are not. */
  readonly metricsUrl: string | null;
  /** Every route that is served, as `GET /v1/vaults/:id`. */
  readonly routes: readonly string[];
  /** Reloads the TLS certificate without cutting connections. */
  reload(): Promise<void>;
  /** Requests in progress finish, the log is flushed and signed, and everything is closed. */
  stop(): Promise<void>;
}

export interface ServeParts {
  /** A clock that is moved by hand (see `wallClock`). */
  readonly movedClock?: SharedArrayBuffer;
  readonly report: Report;
  readonly timeouts?: Timeouts | undefined;
  readonly passwordCosts?: OpenParts['passwordCosts'];
  /** How the other planes are started, where they are not in threads of their own. */
  readonly startPlane?: StartThread | undefined;
  /** Whether memory that only the start needed is given back. */
  readonly sparing?: boolean;
}

const noteUsesEvery = 10_000;
const lookForReplicationEvery = 60_000;
/** How long requests in progress may take once the service is stopping; then their connections are cut. */
const longestDrain = 6_000;

export async function serve(given: ServeConfig, parts: ServeParts): Promise<Running> {
  checkListener(given);
  const advice = addressAdvice(given);
  if (advice !== null) parts.report(advice);
  checkBackups(given);
  const lock = lockData(given);
  const release = () => lock?.release();
  try {
    const tls = isEncrypted(given) ? await (await import('./listener/tls.ts')).openTls(given) : null;
    const config = await withAskedPassphrase(given);
    return await servePlanes(config, tls, parts, release);
  } catch (error) {
    release();
    throw error;
  }
}

/** The management plane's thread starts first: it loads what it needs while this one opens the data. */
async function servePlanes(
  config: ServeConfig,
  tls: Tls | null,
  parts: ServeParts,
  release: () => void,
): Promise<Running> {
  const management = new Management(parts.report, parts.startPlane);
  const uses = new Uses(parts.report, parts.startPlane);
  const wall = wallClock(parts.movedClock ?? null);
  try {
    makeFolder(config.data);
    const opened = await openData(
      config,
      true,
      wall,
      parts,
      among(management.plane.sibling, uses.plane.sibling),
    );
    const meters = { management: new Meter(), uses: new Meter() };
    return await listen({ config, tls, parts, management, uses, meters, opened, release }).catch(
      async error => {
        await management.plane.terminate(); // First: it would tell of a writer that is gone.
        await opened.store.close();
        throw error;
      },
    );
  } catch (error) {
    await management.plane.terminate();
    throw error;
  }
}

interface Planes {
  readonly config: ServeConfig;
  readonly tls: Tls | null;
  readonly parts: ServeParts;
  readonly management: Management;
  readonly uses: Uses;
  /** Where the other planes count, however often their threads are started. */
  readonly meters: Readonly<Record<'management' | 'uses', Meter>>;
  readonly opened: Opened;
  readonly release: () => void;
}

async function listen(planes: Planes): Promise<Running> {
  const { config, tls, management, uses, opened, release } = planes;
  const { report } = planes.parts;
  let draining = false;
  const onError = (error: unknown, requestId?: string) => report(describe(error), requestId);
  const tellFailed = (address: string) => {
    management.plane.tellFailed(address);
    uses.plane.tellFailed(address);
  };
  const domain = readingDomainWith({ ...opened, other: { ledger: uses, tellFailed } });
  uses.begin({
    data: () => ({ ...planeData(planes), meter: planes.meters.uses.buffer }),
    refuse: domain.vaultReads.refuse,
    failed: address => {
      domain.attempts.count(address);
      management.plane.tellFailed(address);
    },
  });
  const routes: string[] = [];
  const tracing = await tracingOf(planes);
  const around = tracing?.around;
  const surface = surfaceOf(planes, domain, { draining: () => draining, routes, onError, around });
  const app = buildReadingApp(surface, management.forward);
  const countRefused = requestsByPath(opened.meter);
  const answerUnavailable = unavailableWith(surface);
  const ready = await management.begin({
    ledger: domain.ledger,
    failed: address => {
      domain.attempts.count(address);
      uses.plane.tellFailed(address);
    },
    refuse: (request, response) => {
      countRefused(request.url!, 503, 0);
      answerUnavailable(request, response);
    },
    onLate: lateAnswers(surface),
    data: () => managementData(planes),
  });
  if (planes.parts.sparing) void giveBackSpareMemory();
  const unbound = await bind(app, config);
  const metrics = await serveMetrics(planes, domain, app).catch(async error => {
    await app.close();
    unbound();
    throw error;
  });
  tls?.onChange(pair => (app.server as import('node:https').Server).setSecureContext(pair));
  const tellReplication = replicationTold(opened.store, report);
  const chores = new Chores(onError)
    .every(noteUsesEvery, () => domain.authenticate.noteUses())
    .every(lookForReplicationEvery, tellReplication);
  chores.once(tellReplication);
  void surface.storeReady(); // Where something is wrong, the operator need not wait for a probe to be told.
  return {
    ...addressed(urlOf(app, config, tls !== null), config, ready),
    metricsUrl: metrics?.url ?? null,
    routes: [...routes, ...ready.routes],
    reload: async () => tls?.reload(),
    stop: async () => {
      draining = true;
      management.drain();
      await chores.stop();
      tls?.close();
      const cut = setTimeout(() => app.server.closeAllConnections(), longestDrain);
      await app.close();
      unbound();
      clearTimeout(cut);
      await tracing?.stop();
      await metrics?.close();
      await uses.stop();
      await domain.authenticate.noteUses().catch(onError);
      await domain.ledger.drain();
      await management.plane.stop(); // It has the last word in the log: the checkpoint that signs all of it.
      await opened.store.close();
      release();
    },
  };
}

/** Tells the operator, once for each time that it begins, what asynchronous replication can cost them. */
function replicationTold({ server }: Pick<Store, 'server'>, report: Report): () => Promise<void> {
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

interface Surroundings extends Pick<ReadingSurfaceParts, 'draining' | 'onError' | 'around'> {
  /** Where routes are noted as they are registered. */
  readonly routes: string[];
}

function surfaceOf(
  { config, tls, parts, management, uses, opened }: Planes,
  domain: ReadingDomain,
  { routes, ...surroundings }: Surroundings,
): ReadingSurfaceParts {
  const isReady = readinessOf(opened.store, parts.report);
  const connections = connectionsOf(config, tls !== null);
  return {
    ...surroundings,
    domain: { ...domain, vaultUses: uses.vaultUses, keyUses: uses.keyUses },
    now: opened.now,
    newId: opened.newId,
    meter: opened.meter,
    encrypted: tls !== null,
    tls: tls?.current ?? null,
    clientCertificates: config['client-certificates'],
    timeouts: parts.timeouts,
    connections,
    storeReady: async () => (await isReady()) && management.isUp,
    proveData: challenge => opened.keyring.answerTo(challenge),
    addressOf: addressReader(config['behind-proxy'], connections.peerOf),
    addresses: addressesOf(config),
    oauth: oauthSurface(oauthSettingsOf(config, siteReaderOf(config, tls !== null, connections.peerOf))),
    version: packageJson.version,
    onRoute: ({ method, url }) => routes.push(...[method].flat().map(one => `${one} ${url}`)),
  };
}

/** What another plane opens the data with: at the start, and where its thread is started anew. */
function planeData({ config, parts, opened }: Planes): Omit<PlaneData, 'meter'> {
  const { store, keyring, storedKeyring, signed } = opened;
  return {
    config,
    writer: store.writerPort?.() ?? null,
    keyring: keyring.handOver(),
    storedKeyring,
    signed,
    movedClock: parts.movedClock ?? null,
  };
}

function managementData(planes: Planes): ManagementData {
  const { tls, parts, opened, management, meters } = planes;
  return {
    ...planeData(planes),
    meter: meters.management.buffer,
    accepted: management.hasBegun ? [] : opened.accepted,
    encrypted: tls !== null,
    sparing: parts.sparing ?? false,
    timeouts: parts.timeouts,
    passwordCosts: parts.passwordCosts,
  };
}

function addressed(url: string, config: ServeConfig, { setupToken }: Ready) {
  const dashboardUrl = dashboardUrlOf(url, config);
  return { url, dashboardUrl, setupUrl: setupToken === null ? null : `${dashboardUrl}/setup#${setupToken}` };
}

/** What sends traces is loaded only where somebody wants them. */
async function tracingOf({ config, parts, opened }: Planes): Promise<Tracing | null> {
  if (config.tracing === null) return null;
  const { startTracing } = await import('../tracing/tracing.ts');
  const { version } = packageJson;
  return startTracing({ settings: config.tracing, version, meter: opened.meter, report: parts.report });
}

async function serveMetrics(
  { config, management, meters, opened }: Planes,
  { ledger }: ReadingDomain,
  { server }: FastifyInstance,
): Promise<MetricsListener | null> {
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

function lockData(config: ServeConfig): { release(): void } | null {
  if (config['database-url'] !== null) return null;
  const lock = lockFolder(inData(config, 'serve.lock'));
  if (lock === null)
    throw new UsageError(`--data is already served by another process: ${databasePath(config)}`);
  return lock;
}
