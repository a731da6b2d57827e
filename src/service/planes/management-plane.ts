/**
 * The management plane: the general API, sign-in, the dashboard, exports, events and background work, on its own event
 * loop. It takes over what the reading plane opened; both use the same writer, and each is notified of the other's
 * changes.
 */
import type { MessagePort } from 'node:worker_threads';
import packageJson from '../../../package.json' with { type: 'json' };
import type { BackupSchedule } from '../../backup/schedule.ts';
import { Chores } from '../../base/chores.ts';
import { writeDurably } from '../../base/durable-file.ts';
import { giveBackSpareMemory } from '../../base/spare-memory.ts';
import { startEvents } from '../../events/events.ts';
import { buildApp } from '../../http/app.ts';
import { addressReader, peerReader } from '../../http/listener/request.ts';
import { oauthSurface } from '../../http/surface/oauth-issuer.ts';
import { toRouter } from '../../http/surface/surface.ts';
import { writeCheckpointFile } from '../../logs/checkpoint-file.ts';
import { Checkpointer } from '../../logs/checkpoints.ts';
import { backupFacts, backupScheduleOf } from '../backups/scheduled-backups.ts';
import { linkedDashboard } from '../listener/listening.ts';
import { oauthSettingsOf, signOnOf, siteReaderOf } from '../listener/sign-on.ts';
import { type Strongroom, strongroomOver } from '../opening/open.ts';
import { checkpointFile } from '../opening/open-data.ts';
import { inData } from '../settings/config.ts';
import { smtpSettingsOf } from '../settings/mail.ts';
import { managementGauges } from './gauges.ts';
import { beginBackups, startHousework } from './housework.ts';
import { LinkedRequests } from './linked-requests.ts';
import type { ForManagement, ManagementData, Ready, ToExchange } from './messages.ts';
import { openInPlane } from './plane-data.ts';
import { type BegunPlane, planeSide, type ToReading } from './plane-side.ts';
import type { Post, RequestReceiver } from './request-receiver.ts';
import { newsIn } from './shared-news.ts';

interface Made extends BegunPlane<Ready> {
  readonly forwarded: RequestReceiver;
  /** Serves a reader of its own thread. */
  link(port: MessagePort): void;
  /** Answers the requests that are held until something changes. */
  drain(): void;
}

type Reading = ToReading<ForManagement>;

export function managementPlane(port: MessagePort): void {
  let isDraining = false;
  const draining = () => isDraining;
  planeSide<ManagementData, Ready, Made, ForManagement>(port, {
    begin: (data, reading) => begin(data, reading, draining),
    services: state => ({
      exchange: (message: ToExchange) => state.made?.forwarded.take(message),
      link: (port: MessagePort) => state.made?.link(port),
      drain: () => {
        isDraining = true;
        state.made?.drain();
      },
    }),
  });
}

async function begin(data: ManagementData, reading: Reading, draining: () => boolean): Promise<Made> {
  const news = newsIn(data);
  const sibling = news?.beside(reading.sibling) ?? reading.sibling;
  const opened = { ...(await openInPlane(data, sibling)), accepted: data.accepted };
  const backups = backupScheduleOf(data.config, opened, reading.report);
  const { channel } = reading;
  const tellFailed = news?.tellFailed ?? reading.tellFailed;
  const ledger = {
    settle: () => channel.call('settle'),
    writeHourCounts: () => channel.call('writeHourCounts'),
  };
  const facts = () => backupFacts(backups);
  const strongroom = await strongroomOver(
    data.config,
    opened,
    false,
    data.passwordCosts,
    { ledger, tellFailed },
    facts,
  ).catch(async error => {
    await opened.store.close();
    throw error;
  });
  news?.onCounted('failed', address => strongroom.domain.attempts.learn(address));
  return serveOver(data, strongroom, backups, reading, draining).catch(async error => {
    await strongroom.close().catch(() => {});
    throw error;
  });
}

async function serveOver(
  data: ManagementData,
  strongroom: Strongroom,
  backups: BackupSchedule | null,
  { channel, onError }: Reading,
  draining: () => boolean,
): Promise<Made> {
  const { config, encrypted } = data;
  const { domain, keyring } = strongroom;
  const peerOf = peerReader(config.socket !== null);
  const siteOf = siteReaderOf(config, encrypted, peerOf);
  const routes: string[] = [];
  const app = buildApp(
    {
      ...strongroom,
      encrypted,
      timeouts: data.timeouts,
      countRequests: strongroom.store.limits.take,
      addressOf: addressReader(config['behind-proxy'], peerOf),
      siteOf,
      oauth: oauthSurface(oauthSettingsOf(config, siteOf)),
      singleSignOn: signOnOf(config, strongroom),
      version: packageJson.version,
      draining,
      onRoute: ({ method, url }) => routes.push(...[method].flat().map(one => `${one} ${url}`)),
      onError,
    },
    request => requests.late(request),
  );
  await app.ready();
  const post: Post = (message, transfer = []) => channel.notifyThisTurn(transfer, 'exchange', message);
  const requests = new LinkedRequests(toRouter(app.routing));
  const checkpointer = new Checkpointer({
    ...strongroom,
    ledger: domain.ledger,
    keep: signed => writeCheckpointFile(checkpointFile(config), keyring.logPublicKey, signed),
    onError,
  });
  await writeDurably(inData(config, 'log-public-key.pem'), keyring.logPublicKey, 0o644);
  // From now on, entries are never much newer than the newest checkpoint.
  await checkpointer.begin().catch(onError);
  await domain.noteTimeline().catch(onError);
  await beginBackups(backups);
  const chores = startHousework(new Chores(onError), strongroom, config, checkpointer, backups, onError);
  strongroom.store.onChange(domain.leaseKeeper.touched);
  const gauges =
    config['metrics-port'] === null ? null : managementGauges(strongroom, () => backupFacts(backups), chores);
  checkpointer.start();
  const privateWebhooks = config['allow-private-webhooks'];
  const dashboard = linkedDashboard(config, encrypted);
  const smtp = smtpSettingsOf(config, dashboard);
  const stopEvents = await startEvents({ ...strongroom, privateWebhooks, dashboard, smtp, onError });
  if (data.sparing) void giveBackSpareMemory();
  return {
    begun: { routes, setupToken: await domain.accounts.joining.setupToken() },
    forwarded: requests.receiver(post),
    link: port => requests.link(port),
    failed: address => domain.attempts.learn(address),
    drain: domain.approvalWatch.answerAll,
    stop: async () => {
      backups?.stop();
      await chores.stop();
      await domain.leaseKeeper.stop();
      await domain.rotationKeeper.stop();
      gauges?.stop();
      await app.close();
      await stopEvents();
      await finish(strongroom, checkpointer, onError);
    },
  };
}

type OnError = (error: unknown) => void;

/** Flushes and signs the log, and closes everything. */
async function finish(strongroom: Strongroom, checkpointer: Checkpointer, onError: OnError): Promise<void> {
  const { ledger, authenticate } = strongroom.domain;
  await authenticate.noteUses().catch(onError);
  await ledger.drain();
  await ledger.writeHourCounts().catch(onError);
  await checkpointer.stop();
  await strongroom.domain.revisions.keep(1).catch(onError); // So that the next start need not read further.
  await strongroom.close();
}
