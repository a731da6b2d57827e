/**
 * The management plane: the general API, sign-in, the dashboard, exports, events and background work, on an event loop
 * of its own. It is handed what the reading plane opened; both use the same writer, and hear of each other's changes.
 */
import type { MessagePort } from 'node:worker_threads';
import packageJson from '../../package.json' with { type: 'json' };
import type { BackupSchedule } from '../backup/schedule.ts';
import { Chores } from '../chores.ts';
import { inData, type ServeConfig } from '../config.ts';
import { writeDurably } from '../durable-file.ts';
import { type Events, startEvents } from '../events/events.ts';
import { buildApp } from '../http/app.ts';
import { oauthSurface } from '../http/oauth/issuer.ts';
import { addressReader, peerReader } from '../http/request.ts';
import { toRouter } from '../http/surface.ts';
import { writeCheckpointFile } from '../logs/checkpoint-file.ts';
import { Checkpointer } from '../logs/checkpoints.ts';
import { type Strongroom, strongroomOver } from '../open.ts';
import { archiveFolder, checkpointFile } from '../open-data.ts';
import { describe, messageOf, UsageError } from '../report.ts';
import { backupFacts, backupScheduleOf } from '../scheduled-backups.ts';
import { oauthSettingsOf, signOnOf, siteReaderOf } from '../sign-on.ts';
import { giveBackSpareMemory } from '../spare-memory.ts';
import { ForwardedRequests } from './forwarded.ts';
import { managementGauges } from './gauges.ts';
import { openHanded } from './handed.ts';
import type { FromManagement, Handed, LedgerCall, ToManagement } from './messages.ts';

const noteUsesEvery = 10_000;
const houseworkEvery = 60_000;
const forgetSessionsEvery = 600_000;
/** What PostgreSQL’s standby had not received when it took over is told from a cut by when that was. */
const lookForTimelineEvery = 2_000;
/** How often it is asked whether a backup is due. */
const lookForBackups = 1_000;

interface Plane {
  readonly forwarded: ForwardedRequests;
  readonly failed: (address: string) => void;
  /** Requests that are held until something changes are answered. */
  drain(): void;
  stop(): Promise<void>;
}

export class ManagementPlane {
  readonly #port: MessagePort;
  readonly #told: ((touched: readonly string[]) => void)[] = [];
  readonly #calls = new Map<number, PromiseWithResolvers<void>>();
  #lastCall = 0;
  #draining = false;
  #plane: Plane | null = null;
  #backups: BackupSchedule | null = null;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (message: ToManagement) => this.#take(message));
  }

  #take(message: ToManagement): void {
    switch (message.kind) {
      case 'begin':
        void this.#begin(message.handed);
        return;
      case 'touched':
        for (const listener of this.#told) listener(message.ids);
        return;
      case 'failed':
        this.#plane?.failed(message.address);
        return;
      case 'settled':
        this.#settle(message.call, message.error);
        return;
      case 'drain':
        this.#draining = true;
        this.#plane?.drain();
        return;
      case 'stop':
        void this.#stop();
        return;
      default:
        this.#plane?.forwarded.take(message);
    }
  }

  readonly #post = (message: FromManagement, transfer: readonly ArrayBuffer[] = []): void =>
    this.#port.postMessage(message, [...transfer]);

  readonly #onError = (error: unknown, requestId?: string): void =>
    this.#post({ kind: 'report', line: describe(error), requestId });

  /** Asks the reading plane's ledger. */
  #ask(what: LedgerCall): () => Promise<void> {
    return () => {
      const call = ++this.#lastCall;
      const waiting = Promise.withResolvers<void>();
      this.#calls.set(call, waiting);
      this.#post({ kind: 'call', call, what });
      return waiting.promise;
    };
  }

  #settle(call: number, error: string | null): void {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    if (error === null) waiting?.resolve();
    else waiting?.reject(new Error(error));
  }

  async #begin(handed: Handed): Promise<void> {
    let strongroom: Strongroom | null = null;
    try {
      strongroom = await this.#strongroomOf(handed);
      const routes: string[] = [];
      this.#plane = await this.#planeOver(handed, strongroom, routes);
      if (handed.sparing) void giveBackSpareMemory();
      const setupToken = await strongroom.domain.accounts.joining.setupToken();
      this.#post({ kind: 'ready', routes, setupToken });
    } catch (error) {
      const line = await messageOf(error);
      const close = this.#plane?.stop ?? strongroom?.close;
      await close?.().catch(() => {});
      this.#post({ kind: 'refused', line, isUsage: error instanceof UsageError });
      this.#port.close();
    }
  }

  async #stop(): Promise<void> {
    await this.#plane?.stop().catch(this.#onError);
    this.#port.close();
  }

  async #strongroomOf(handed: Handed): Promise<Strongroom> {
    const other = {
      ledger: { settle: this.#ask('settle'), writeHourCounts: this.#ask('writeHourCounts') },
      tellFailed: (address: string) => this.#post({ kind: 'failed', address }),
    };
    const data = await openHanded(handed, {
      tell: ids => this.#post({ kind: 'touched', ids }),
      onTold: listener => void this.#told.push(listener),
    });
    const opened = { ...data, accepted: handed.accepted };
    const report = (line: string) => this.#post({ kind: 'report', line, requestId: undefined });
    const backups = backupScheduleOf(handed.config, opened, report);
    this.#backups = backups;
    const facts = () => backupFacts(backups);
    return strongroomOver(handed.config, opened, false, handed.passwordCosts, other, facts).catch(
      async error => {
        await data.store.close();
        throw error;
      },
    );
  }

  async #planeOver(handed: Handed, strongroom: Strongroom, routes: string[]): Promise<Plane> {
    const { config, encrypted } = handed;
    const { domain, keyring } = strongroom;
    const onError = this.#onError;
    const peerOf = peerReader(config.socket !== null);
    const siteOf = siteReaderOf(config, encrypted, peerOf);
    const app = buildApp(
      {
        ...strongroom,
        encrypted,
        timeouts: handed.timeouts,
        countRequests: strongroom.store.limits.take,
        addressOf: addressReader(config['behind-proxy'], peerOf),
        siteOf,
        oauth: oauthSurface(oauthSettingsOf(config, siteOf)),
        singleSignOn: signOnOf(config, strongroom),
        version: packageJson.version,
        draining: () => this.#draining,
        onRoute: ({ method, url }) => routes.push(...[method].flat().map(one => `${one} ${url}`)),
        onError,
      },
      request => forwarded.late(request),
    );
    await app.ready();
    const forwarded = new ForwardedRequests(toRouter(app.routing), this.#post);
    const checkpointer = new Checkpointer({
      ...strongroom,
      ledger: domain.ledger,
      keep: signed => writeCheckpointFile(checkpointFile(config), keyring.logPublicKey, signed),
      onError,
    });
    await writeDurably(inData(config, 'log-public-key.pem'), keyring.logPublicKey, 0o644);
    // What comes from now on is never much newer than the newest checkpoint.
    await checkpointer.begin().catch(onError);
    await domain.noteTimeline().catch(onError);
    const chores = startChores(strongroom, config, checkpointer, onError);
    const gauges =
      config['metrics-port'] === null
        ? null
        : managementGauges(strongroom, () => backupFacts(this.#backups), onError);
    await this.#startBackups(chores);
    checkpointer.start();
    const privateWebhooks = config['allow-private-webhooks'];
    const events = await startEvents({ ...strongroom, privateWebhooks, onError });
    const stop = async () => {
      this.#backups?.stop();
      await chores.stop();
      await gauges?.stop();
      await app.close();
      await finish(strongroom, events, checkpointer, onError);
    };
    return {
      forwarded,
      failed: address => domain.attempts.count(address),
      drain: domain.approvalWatch.answerAll,
      stop,
    };
  }

  async #startBackups(chores: Chores): Promise<void> {
    const backups = this.#backups;
    if (backups === null) return;
    await backups.begin().catch(error => {
      throw new UsageError(`--backup-to can’t be used: ${error.code ?? error.message}`);
    });
    chores.every(lookForBackups, () => backups.step());
  }
}

type OnError = (error: unknown) => void;

/** The log is flushed and signed, and everything is closed. */
async function finish(
  strongroom: Strongroom,
  events: Events,
  checkpointer: Checkpointer,
  onError: OnError,
): Promise<void> {
  const { ledger, authenticate } = strongroom.domain;
  await events.stop();
  await authenticate.noteUses().catch(onError);
  await ledger.drain();
  await ledger.writeHourCounts().catch(onError);
  await checkpointer.stop();
  await strongroom.domain.revisions.keep(1).catch(onError); // So that the next start has nothing to read on.
  await strongroom.close();
}

/** Background work, in small steps. */
function startChores(
  strongroom: Strongroom,
  config: ServeConfig,
  checkpointer: Checkpointer,
  onError: OnError,
): Chores {
  const { domain, store, aged } = strongroom;
  const { retention } = domain;
  const requests = { aged, days: config['log-retention-days'] };
  const audits = { aged, days: config['audit-retention-days'] };
  /** Until a removal is signed, nobody without the keyring can tell who removed the entries. */
  const signed = async (more: boolean) => {
    await checkpointer.sign();
    return more;
  };
  return new Chores(onError)
    .every(noteUsesEvery, async () => {
      await domain.authenticate.noteUses();
      await domain.ledger.writeHourCounts();
    })
    .every(houseworkEvery, () => retention.prune(requests).then(signed))
    .every(houseworkEvery, () => retention.archive(audits, archiveFolder(config)).then(signed))
    .every(houseworkEvery, () => store.giveBackSpace())
    .every(houseworkEvery, () => domain.housekeeping.step())
    .every(houseworkEvery, () => domain.revisions.keep())
    .every(lookForTimelineEvery, () => domain.noteTimeline())
    .every(forgetSessionsEvery, () => domain.toolSessions.forget());
}
