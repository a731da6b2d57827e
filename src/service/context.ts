/**
 * The context of a serving process, from its Config: the data, opened once, the planes other than the reading plane, and
 * the files that only one process may have. The planes get the same data from here, at the start and when their thread
 * restarts.
 */
import { wallClock } from '../base/clock.ts';
import { makeFolder } from '../base/durable-file.ts';
import type { Timeouts } from '../http/listener/server.ts';
import { Meter } from '../metrics/meter.ts';
import { lockFolder } from '../store/sqlite/folder-lock.ts';
import { among } from '../store/store.ts';
import type { StartThread } from '../threads/thread.ts';
import { checkBackups } from './backups/scheduled-backups.ts';
import { addressAdvice, checkListener, isEncrypted } from './listener/listening.ts';
import type { Tls } from './listener/tls.ts';
import { type OpenParts, openData } from './opening/open-data.ts';
import { withAskedPassphrase } from './opening/root-key-sources.ts';
import { Management } from './planes/management.ts';
import type { ManagementData, PlaneData } from './planes/messages.ts';
import { Uses } from './planes/uses.ts';
import { databasePath, inData, type ServeConfig, UsageError } from './settings/config.ts';
import type { Report } from './settings/report.ts';

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
    return await contextOver(config, tls, parts, () => lock?.release());
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/**
 * The management plane's thread starts first, so that it loads its code while this thread opens the data. `release`
 * releases the lock, so that another process can serve the same data.
 */
async function contextOver(config: ServeConfig, tls: Tls | null, parts: ServeParts, release: () => void) {
  const management = new Management(parts.report, parts.startPlane);
  const uses = new Uses(parts.report, parts.startPlane);
  try {
    makeFolder(config.data);
    const sibling = among(management.plane.sibling, uses.plane.sibling);
    const opened = await openData(config, true, wallClock(parts.movedClock ?? null), parts, sibling);
    /** The metrics of the other planes, which survive a restart of their threads. */
    const meters = { management: new Meter(), uses: new Meter() };
    const usesData = (): PlaneData => ({
      config,
      writer: opened.store.writerPort?.() ?? null,
      keyring: opened.keyring.handOver(),
      storedKeyring: opened.storedKeyring,
      slot: opened.wrapper.handOver(),
      signed: opened.signed,
      movedClock: parts.movedClock ?? null,
      meter: meters.uses.buffer,
    });
    const managementData = (): ManagementData => ({
      ...usesData(),
      meter: meters.management.buffer,
      accepted: management.hasBegun ? [] : opened.accepted,
      encrypted: tls !== null,
      sparing: parts.sparing ?? false,
      timeouts: parts.timeouts,
      passwordCosts: parts.passwordCosts,
    });
    /** Cleans up after a failed start. */
    const abandon = async () => {
      await management.plane.terminate(); // First, because it would report that the writer has ended.
      await opened.store.close();
      release();
    };
    return {
      config,
      tls,
      parts,
      management,
      uses,
      meters,
      opened,
      usesData,
      managementData,
      release,
      abandon,
    };
  } catch (error) {
    await management.plane.terminate();
    throw error;
  }
}

function lockData(config: ServeConfig): { release(): void } | null {
  if (config['database-url'] !== null) return null;
  const lock = lockFolder(inData(config, 'serve.lock'));
  if (lock === null)
    throw new UsageError(`--data is already served by another process: ${databasePath(config)}`);
  return lock;
}
