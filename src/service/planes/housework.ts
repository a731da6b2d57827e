/** Background work of the planes, in small steps. */
import type { BackupSchedule } from '../../backup/schedule.ts';
import type { Chores } from '../../base/chores.ts';
import type { Checkpointer } from '../../logs/checkpoints.ts';
import type { Strongroom } from '../opening/open.ts';
import { archiveFolder } from '../opening/open-data.ts';
import type { ServeConfig } from '../settings/config.ts';
import { UsageError } from '../settings/report.ts';

/** How often to look for leases that end. */
const endLeasesEvery = 500;
/** How often to look for secrets that rotate. */
const rotateEvery = 1_000;
const noteUsesEvery = 10_000;
const houseworkEvery = 60_000;
const forgetSessionsEvery = 600_000;
/** The time of a PostgreSQL failover distinguishes entries that a standby had not received from removed ones. */
const lookForTimelineEvery = 2_000;
/** How often to check whether a backup is due. */
const lookForBackupsEvery = 1_000;

/** The background work of the management plane. */
export function startHousework(
  chores: Chores,
  { domain, store, aged }: Pick<Strongroom, 'domain' | 'store' | 'aged'>,
  config: ServeConfig,
  checkpointer: Pick<Checkpointer, 'sign'>,
  backups: Pick<BackupSchedule, 'step'> | null,
  onError: (error: unknown) => void,
): Chores {
  const { retention } = domain;
  const requests = { aged, days: config['log-retention-days'] };
  const audits = { aged, days: config['audit-retention-days'] };
  /** Signs after a removal: until then, it can't be told without the keyring who removed the entries. */
  const signed = async (more: boolean) => {
    await checkpointer.sign();
    return more;
  };
  // An error is reported, and it is tried again with the other housework.
  chores.once(() => domain.stageTakeover.step());
  if (backups !== null) chores.every(lookForBackupsEvery, () => backups.step());
  return chores
    .every(noteUsesEvery, async () => {
      await domain.authenticate.noteUses();
      await domain.ledger.writeHourCounts();
    })
    .every(houseworkEvery, () => retention.prune(requests).then(signed))
    .every(houseworkEvery, () => retention.archive(audits, archiveFolder(config)).then(signed))
    .every(houseworkEvery, () => store.giveBackSpace())
    .every(houseworkEvery, () => domain.stageTakeover.step())
    .every(houseworkEvery, () => domain.housekeeping.step())
    .every(houseworkEvery, () => domain.revisions.keep())
    .every(lookForTimelineEvery, () => domain.noteTimeline())
    .every(endLeasesEvery, () => domain.leaseKeeper.step(onError))
    .every(rotateEvery, () => domain.rotationKeeper.step(onError))
    .every(forgetSessionsEvery, () => domain.toolSessions.forget());
}

/** Refuses the start if backups can't be written. */
export async function beginBackups(backups: Pick<BackupSchedule, 'begin'> | null): Promise<void> {
  await backups?.begin().catch(error => {
    throw new UsageError(`--backup-to can’t be used: ${error.code ?? error.message}`);
  });
}
