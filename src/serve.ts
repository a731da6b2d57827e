/** The composition root: open, wire, listen, drain, close. */
import { mkdir, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import type { FastifyInstance } from 'fastify';
import packageJson from '../package.json' with { type: 'json' };
import { Chores } from './chores.ts';
import { databasePath, inData, type ServeConfig, UsageError } from './config.ts';
import { startEvents } from './events/events.ts';
import { buildApp } from './http/app.ts';
import { siteReader } from './http/browser.ts';
import type { AppParts } from './http/parts.ts';
import { addressReader } from './http/request.ts';
import type { Timeouts } from './http/server.ts';
import { Checkpointer } from './logs/checkpoints.ts';
import { pruneStep } from './logs/retention.ts';
import type { AddressSettings } from './mcp/addresses.ts';
import { openStrongroom, type Strongroom } from './open.ts';
import { describe } from './report.ts';
import { lockFolder } from './store/sqlite.ts';
import type { Store } from './store/store.ts';
import { openTls, type Tls } from './tls.ts';
import { type SingleSignOn, singleSignOnWith } from './vault/accounts/single-sign-on.ts';

export interface Running {
  readonly url: string;
  /** Where people open the dashboard. */
  readonly dashboardUrl: string;
  /** The one-time link that sets it up; null where that is done. */
  readonly setupUrl: string | null;
  /** Answers in flight finish, the log is flushed and signed, everything is closed. */
  stop(): Promise<void>;
}

export interface ServeParts {
  readonly now?: () => number;
  /** One line for the operator: what happened, never what was sent. */
  readonly report: (line: string) => void;
  /** Told of every route as it is registered. */
  readonly onRoute?: AppParts['onRoute'];
  readonly timeouts?: Timeouts;
}

const noteUsesEvery = 10_000;
const houseworkEvery = 60_000;
/** How long answers in flight may take once the service stops; then their connections are cut. */
const longestDrain = 6_000;
const forgetSessionsEvery = 600_000;

export async function serve(config: ServeConfig, parts: ServeParts): Promise<Running> {
  checkListener(config);
  const lock = lockData(config);
  try {
    const tls = await openTls(config);
    const strongroom = await openStrongroom(config, true, parts.now);
    return await listen(config, strongroom, tls, parts, () => lock?.release()).catch(async error => {
      await strongroom.close();
      throw error;
    });
  } catch (error) {
    lock?.release();
    throw error;
  }
}

async function listen(
  config: ServeConfig,
  strongroom: Strongroom,
  tls: Tls | null,
  { report, onRoute, timeouts }: ServeParts,
  release: () => void,
): Promise<Running> {
  let draining = false;
  const onError = (error: unknown, requestId = '-') => report(`${requestId} ${describe(error)}`);
  const app = buildApp({
    ...strongroom,
    ...(timeouts === undefined ? {} : { timeouts }),
    countRequests: strongroom.store.limits.take,
    storeReady: () => isReady(strongroom.store),
    addressOf: addressReader(config['behind-proxy']),
    siteOf: siteReader(tls !== null, config['behind-proxy']),
    singleSignOn: signOnOf(config, strongroom),
    addresses: addressesOf(config),
    version: packageJson.version,
    tls: tls?.current ?? null,
    draining: () => draining,
    ...(onRoute === undefined ? {} : { onRoute }),
    onError,
  });
  const checkpointer = new Checkpointer({
    ...strongroom,
    ledger: strongroom.domain.ledger,
    file: config['checkpoint-file'] ?? inData(config, 'checkpoint.json'),
    onError,
  });
  await mkdir(resolve(config.data), { recursive: true, mode: 0o700 });
  await writeFile(inData(config, 'log-public-key.pem'), strongroom.keyring.logPublicKey);
  await bind(app, config);
  tls?.onChange(pair => (app.server as import('node:https').Server).setSecureContext(pair));
  const chores = startChores(strongroom, config, onError);
  checkpointer.start();
  const privateWebhooks = config['allow-private-webhooks'];
  const events = await startEvents({ ...strongroom, privateWebhooks, onError });
  const url = urlOf(app, config, tls !== null);
  const dashboardUrl = dashboardUrlOf(url, config);
  const setupToken = await strongroom.domain.accounts.joining.setupToken();
  return {
    url,
    dashboardUrl,
    setupUrl: setupToken === null ? null : `${dashboardUrl}/setup#${setupToken}`,
    stop: async () => {
      draining = true;
      await chores.stop();
      tls?.close();
      const cut = setTimeout(() => app.server.closeAllConnections(), longestDrain);
      await app.close();
      clearTimeout(cut);
      await events.stop();
      await strongroom.domain.authenticate.noteUses().catch(onError);
      await strongroom.domain.ledger.drain();
      await strongroom.domain.ledger.hourCounts.write().catch(onError);
      await checkpointer.stop();
      await strongroom.close();
      release();
    },
  };
}

function signOnOf(config: ServeConfig, { keyring, now }: Strongroom): SingleSignOn | null {
  const { 'oidc-issuer': issuer, 'oidc-client-id': clientId, 'oidc-name': name } = config;
  if (issuer === null && clientId === null) return null;
  if (issuer === null || clientId === null)
    throw new UsageError('--oidc-issuer and --oidc-client-id go together');
  const clientSecret = config.oidcClientSecret;
  return singleSignOnWith({ issuer, clientId, clientSecret, name: name ?? 'Single sign-on' }, keyring, now);
}

function addressesOf(config: ServeConfig): AddressSettings {
  return { host: config.host, publicUrls: config['public-url'], baseUrls: config['mcp-base-url'] };
}

/** What runs beside the requests, in small steps. */
function startChores(strongroom: Strongroom, config: ServeConfig, onError: (error: unknown) => void): Chores {
  const { domain } = strongroom;
  const retention = { ...strongroom, ledger: domain.ledger, days: config['log-retention-days'] };
  return new Chores(onError)
    .every(noteUsesEvery, async () => {
      await domain.authenticate.noteUses();
      await domain.ledger.hourCounts.write();
      return false;
    })
    .every(houseworkEvery, () => pruneStep(retention))
    .every(houseworkEvery, () => domain.housekeeping.step())
    .every(forgetSessionsEvery, async () => {
      await domain.toolSessions.forget();
      return false;
    });
}

async function bind(app: FastifyInstance, { host, port }: ServeConfig): Promise<void> {
  await app.listen({ host, port }).catch(error => {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      code === 'EADDRINUSE' ? `--port ${port} is in use` : `--host can’t be listened on: ${code}`,
    );
  });
}

/** What goes over a network must be encrypted: by us, or by the proxy that the operator names. */
function checkListener(config: ServeConfig): void {
  const { host } = config;
  const encrypted = config.tls !== null || config['tls-cert'] !== null || config['behind-proxy'].length > 0;
  if (encrypted || host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)) return;
  throw new UsageError(
    '--host is not loopback: give --tls-cert and --tls-key, --tls auto, or --behind-proxy',
  );
}

function lockData(config: ServeConfig): { release(): void } | null {
  if (config['database-url'] !== null) return null;
  const lock = lockFolder(inData(config, 'serve.lock'));
  if (lock === null)
    throw new UsageError(`--data is served by another process already: ${databasePath(config)}`);
  return lock;
}

function urlOf(app: FastifyInstance, { host }: ServeConfig, encrypted: boolean): string {
  const { port } = app.server.address() as AddressInfo;
  const shown = host.includes(':') ? `[${host}]` : host;
  return `${encrypted ? 'https' : 'http'}://${shown}:${port}`;
}

/** As the operator names it, or by a name of this machine: browsers make no passkey for an address. */
function dashboardUrlOf(url: string, config: ServeConfig): string {
  const [named] = config['public-url'];
  if (named !== undefined) return new URL(named).origin;
  return url.replace(/\/\/(127\.0\.0\.1|\[::1\]):/, '//localhost:');
}

async function isReady({ hearsChanges, ping }: Store): Promise<boolean> {
  if (!hearsChanges()) return false;
  return ping().then(
    () => true,
    () => false,
  );
}
