/** The backups that a service takes on its own schedule, each in its own thread, so that no request waits for one. */
import { readFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type Taken, unfinished } from '../../backup/backup.ts';
import { BackupError } from '../../backup/backup-error.ts';
import { type EncryptedFor, recipientsOf } from '../../backup/recipients.ts';
import { BackupSchedule } from '../../backup/schedule.ts';
import type { Failure } from '../../contract/errors.ts';
import type { About } from '../../contract/overview.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import type { OpenedSlot } from '../../keyring/slots/slot.ts';
import type { KeyringWrapper } from '../../keyring/stored-keyring.ts';
import { startThread, threadFile } from '../../threads/thread.ts';
import { type DataPlace, type ServeConfig, UsageError } from '../settings/config.ts';

/** The data that the thread starts with. */
export interface BackupJob {
  readonly place: DataPlace;
  readonly file: string;
  /** The slot that the service has opened; null if the root key has none. */
  readonly slot: OpenedSlot | null;
  readonly encryptedFor: EncryptedFor;
  /** The start time, by the service's clock. */
  readonly startedAt: number;
}

export type BackupServices = {
  take: () => Promise<{ readonly taken: Taken } | { readonly failed: string }>;
};

const file = threadFile(import.meta.url, 'scheduled-backup-thread');
/** In MB. Rows are read in small batches, so a thread that needs more has a fault. */
const largestHeap = 256;

interface BackedUp {
  readonly keyring: Pick<Keyring, 'stamp'>;
  readonly wrapper: Pick<KeyringWrapper, 'handOver'>;
  readonly now: () => number;
}

/** Null if no backups are configured. Throws if the configuration is invalid. */
export function backupScheduleOf(
  config: ServeConfig,
  { keyring, wrapper, now }: BackedUp,
  report: (line: string) => void,
): BackupSchedule | null {
  const folder = config['backup-to'];
  if (folder === null) return null;
  const encryptedFor = encryptedForIn(config);
  return new BackupSchedule({
    folder: resolve(folder),
    every: config['backup-every'],
    keep: config.keep,
    now,
    report,
    markOf: fields => Buffer.from(keyring.stamp('backup', fields)).toString('base64url'),
    take: (file, stopping) => {
      const slot = wrapper.handOver();
      return takeInThread({ place: config, file, slot, encryptedFor, startedAt: now() }, stopping);
    },
  });
}

/** Checks the configuration at the start, and not at the first backup. */
export function checkBackups(config: ServeConfig): void {
  if (config['backup-to'] === null) return;
  try {
    recipientsOf(encryptedForIn(config));
  } catch (error) {
    throw error instanceof BackupError ? new UsageError(`--backup-to: ${error.message}`) : error;
  }
}

function encryptedForIn(config: ServeConfig): EncryptedFor {
  const file = config['backup-passphrase-file'];
  const keys = config['backup-recipient'];
  if (file !== null) return { keys, passphrase: passphraseIn(file) };
  return { keys, passphrase: keys.length > 0 ? null : config.backupPassphrase };
}

export function passphraseIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch {
    throw new UsageError('--backup-passphrase-file names a file that can’t be read');
  }
}

async function takeInThread(job: BackupJob, stopping: AbortSignal): Promise<Taken> {
  const thread = startThread<BackupServices>(file, { data: job, largestHeap });
  const end = () => void thread.terminate();
  stopping.addEventListener('abort', end);
  try {
    const outcome = await thread.call('take').catch(({ cause }: Failure) => {
      throw cause ?? new BackupError('it was stopped');
    });
    if ('taken' in outcome) return outcome.taken;
    throw new BackupError(outcome.failed);
  } finally {
    stopping.removeEventListener('abort', end);
    await thread.terminate();
    await removeUnfinished(job.file);
  }
}

/** A terminated thread does not clean up after itself. */
async function removeUnfinished(file: string): Promise<void> {
  const folder = dirname(file);
  for (const name of await readdir(folder))
    if (name.startsWith(`${unfinished}${basename(file)}`))
      await rm(join(folder, name), { recursive: true, force: true });
}

/** The facts about backups that the API shows. Their location, and why one failed, are only for the operator. */
export function backupFacts(schedule: BackupSchedule | null): About['backups'] {
  if (schedule === null) return null;
  const { last, failed } = schedule.status;
  return {
    every_seconds: schedule.every / 1_000,
    last_at: last?.created_at ?? null,
    proven_at: last?.proven_at ?? null,
    bytes: last?.bytes ?? null,
    failed_at: failed?.at ?? null,
  };
}
