/**
 * The context of a serving process, from its Config: the data, opened once, the planes other than the reading plane, and
 * the files that only one process may have. The planes get the same data from here, at the start and when their thread
 * restarts.
 */
import { availableParallelism } from 'node:os';
import { wallClock } from '../base/clock.ts';
import { makeFolder } from '../base/durable-file.ts';
import type { Timeouts } from '../http/listener/server.ts';
import { Meter } from '../metrics/meter.ts';
import { lockFolder } from '../store/sqlite/folder-lock.ts';
import { among } from '../store/store.ts';
import { broadcastMemory } from '../threads/broadcast.ts';
import { canTransferSockets } from '../threads/socket-transfer.ts';
import type { StartThread } from '../threads/thread.ts';
import { checkBackups } from './backups/scheduled-backups.ts';
import { addressAdvice, checkListener, isEncrypted } from './listener/listening.ts';
import type { Tls } from './listener/tls.ts';
import { type OpenParts, openData } from './opening/open-data.ts';
import { withAskedPassphrase } from './opening/root-key-sources.ts';
import { Management } from './planes/management.ts';
import type { ManagementData, PlaneData, ReaderData } from './planes/messages.ts';
import type { Connect } from './planes/reader-links.ts';
import { Readers } from './planes/readers.ts';
import { newsIn, rings } from './planes/shared-news.ts';
import { Uses } from './planes/uses.ts';
import { databasePath, inData, type ServeConfig, UsageError } from './settings/config.ts';
import type { Report } from './settings/report.ts';

/** By default, one core is left to the other planes. */
const mostByDefault = 8;

export interface ServeParts {
  /** A clock that is moved by hand (see `wallClock`). */
  readonly movedClock?: SharedArrayBuffer;
  readonly report: Report;
  readonly timeouts?: Timeouts | undefined;
  readonly passwordCosts?: OpenParts['passwordCosts'];
  /** How to start the other planes, if not in threads of their own. */
  readonly startPlane?: StartThread | undefined;
  /** A wrapper that has already opened the keyring. */
  readonly wrapper?: OpenParts['wrapper'];
  /** How often a sealed service tries again by itself, in milliseconds. */
  readonly unsealEvery?: number;
  /** Whether memory that only the start needed is released. */
  readonly sparing?: boolean;
}

export type ServiceContext = Awaited<ReturnType<typeof contextOver>>;

/** Checks the Config, opens the data and starts the management plane's thread. A failure leaves nothing behind. */
export async function openContext(given: ServeConfig, parts: ServeParts): Promise<ServiceContext> {
  checkListener(given);
  const advice = addressAdvice(given);
  if (advice !== null) parts.report(advice);
  checkBackups(given);
  const lock = lockData(given);
  try {
    const tls = isEncrypted(given) ? await (await import('./listener/tls.ts')).openTls(given) : null;
    const config = await withAskedPassphrase(given);
    const readers = await readersOf(config, parts);
    return await contextOver(config, tls, parts, readers, () => lock?.release());
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/**
 * The management plane's thread starts first, so that it loads its code while this thread opens the data. `release`
 * releases the lock, so that another process can serve the same data.
 */
async function contextOver(
  config: ServeConfig,
  tls: Tls | null,
  parts: ServeParts,
  readerCount: number,
  release: () => void,
) {
  const { report } = parts;
  const management = new Management(report, parts.startPlane);
  const uses = new Uses(report, parts.startPlane);
  const others = { management, uses };
  const connect: Connect = (plane, port) => others[plane].link(port);
  const readers = readerCount === 1 ? null : new Readers({ count: readerCount, report, connect });
  const memory = readers === null ? null : broadcastMemory(rings.firstReader + readerCount);
  const placeOf = (own: number) => (memory === null ? null : { memory, own });
  try {
    makeFolder(config.data);
    const messages = among(management.plane.sibling, uses.plane.sibling, ...(readers?.siblings ?? []));
    const news = newsIn({ news: placeOf(rings.main) });
    for (const plane of [management.plane, uses.plane, ...(readers?.planes ?? [])])
      plane.whenEnded(() => news?.tellAll()); // It may have committed changes that it could not report.
    const sibling = news?.beside(messages) ?? messages;
    const opened = await openData(config, true, wallClock(parts.movedClock ?? null), parts, sibling);
    /** The metrics of the other planes, which survive a restart of their threads. */
    const meters = {
      management: new Meter(),
      uses: new Meter(),
      readers: Array.from({ length: readers === null ? 0 : readerCount }, () => new Meter()),
    };
    const loads = meters.readers.map(() => new SharedArrayBuffer(4));
    const planeData = (meter: Meter, ring: number): PlaneData => ({
      config,
      writer: opened.store.writerPort?.() ?? null,
      keyring: opened.keyring.handOver(),
      storedKeyring: opened.storedKeyring,
      slot: opened.wrapper.handOver(),
      signed: opened.signed,
      movedClock: parts.movedClock ?? null,
      meter: meter.buffer,
      news: placeOf(ring),
    });
    const usesData = (): PlaneData => planeData(meters.uses, rings.uses);
    const readerData = (number: number): ReaderData => ({
      ...planeData(meters.readers[number - 1]!, rings.firstReader + number - 1),
      number,
      encrypted: tls !== null,
      certificate: tls?.current ?? null,
      timeouts: parts.timeouts,
      sparing: parts.sparing ?? false,
      readers: readerCount,
      load: loads[number - 1]!,
    });
    const managementData = (): ManagementData => ({
      ...planeData(meters.management, rings.management),
      accepted: management.hasBegun ? [] : opened.accepted,
      encrypted: tls !== null,
      sparing: parts.sparing ?? false,
      timeouts: parts.timeouts,
      passwordCosts: parts.passwordCosts,
    });
    /** Cleans up after a failed start. */
    const abandon = async () => {
      await Promise.all([management.plane.terminate(), readers?.terminate()]); // They would report that the writer has ended.
      await opened.store.close();
      release();
    };
    return {
      config,
      tls,
      parts,
      management,
      uses,
      readers,
      loads,
      meters,
      opened,
      usesData,
      readerData,
      managementData,
      release,
      abandon,
    };
  } catch (error) {
    await Promise.all([management.plane.terminate(), readers?.terminate()]);
    throw error;
  }
}

/** How many threads read. One reads on the main thread itself. */
async function readersOf(config: ServeConfig, { report, startPlane }: ServeParts): Promise<number> {
  // Planes without threads of their own are those of a test.
  const byDefault = startPlane === undefined ? Math.min(mostByDefault, availableParallelism() - 1) : 1;
  const count = config.readers ?? Math.max(1, byDefault);
  if (count === 1) return 1;
  if (config.socket !== null) {
    if (config.readers !== null) report('one reader serves the Unix socket: --readers has no effect there');
    return 1;
  }
  if (await canTransferSockets()) return count;
  report('one reader serves all: this version of Node can’t hand connections to other threads');
  return 1;
}

function lockData(config: ServeConfig): { release(): void } | null {
  if (config['database-url'] !== null) return null;
  const lock = lockFolder(inData(config, 'serve.lock'));
  if (lock === null)
    throw new UsageError(`--data is already served by another process: ${databasePath(config)}`);
  return lock;
}
