/**
 * `strongroom backup restore`, or `strongroom restore`: restores a backup into an empty folder or database of either engine, completely or not at all.
 */
import { access } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { BackupError, explained } from '../../backup/backup-error.ts';
import type { Proof, Restored } from '../../backup/load-and-verify.ts';
import { type LostChanges, lostChanges, lostEntries, type Withdrawal } from '../../backup/lost-changes.ts';
import { restoreTo } from '../../backup/restore.ts';
import { isMarked } from '../../logs/chain.ts';
import { disagreement, numberOf, readCheckpointFile } from '../../logs/checkpoint-file.ts';
import { type Strongroom, withStrongroom } from '../../service/opening/open.ts';
import { locationOf } from '../../service/opening/open-data.ts';
import { placeOptions } from '../../service/settings/command-options.ts';
import { flag, inData, readConfigOf, text, UsageError } from '../../service/settings/config.ts';
import { counted } from '../../service/settings/report.ts';
import { lockFolder } from '../../store/sqlite/folder-lock.ts';
import type { Snapshot } from '../../store/store.ts';
import type { Command } from '../terminal/command.ts';
import { note, printable, printJson } from '../terminal/terminal.ts';
import { bars, countsOf, earlierKeyringOpener, factsOf, fileIn, sourceOf } from './backup.ts';
import { backupIdentity, openingOptions } from './backup-keys.ts';
import { type Repeated, sorted, withdrawAgain } from './revoking-again.ts';

const options = {
  ...placeOptions,
  ...openingOptions,
  'no-verify': flag('don’t verify the logs and stamps; requires no root key'),
  checkpoint: text(
    'FILE',
    'the newest checkpoint that was kept (default: checkpoint.json in the data folder)',
  ),
  'newer-log': text(
    'FILE',
    'a newer export of the logs (strongroom audit export), to list what was revoked since the backup',
  ),
  'revoke-again': flag('revoke again everything that was revoked according to the newer log, without asking'),
  json: flag('print one JSON object'),
};
type RestoreConfig = ReturnType<typeof readConfigOf<typeof options>>['config'];

export const command: Command = {
  usage: 'backup restore FILE|- [flags]',
  summary: 'restore a backup into an empty folder or database',
  options,
  completes: 'files',
  about:
    'Restores a backup into an empty data folder or an empty PostgreSQL database (--database-url). Everything is verified before the database is created; if anything is wrong, nothing is restored.',
  run: async args => {
    const { config, positionals } = readConfigOf(options, args, process.env, 1);
    const file = fileIn(positionals);
    if (config['no-verify'] && config['newer-log'] !== null)
      throw new UsageError('--newer-log can’t be combined with --no-verify');
    const lock = lockPlace(config);
    try {
      await restore(config, file);
    } finally {
      lock?.release();
    }
  },
};

/** Keeps a service from starting on an incomplete database. */
function lockPlace(config: RestoreConfig): { release(): void } | null {
  if (config['database-url'] !== null) return null;
  const lock = lockFolder(inData(config, 'serve.lock'));
  if (lock === null) throw new UsageError('--data is served by a running process');
  return lock;
}

/** The findings before the database is created. */
interface Found {
  readonly restored: Restored;
  readonly lost: LostChanges | null;
  /** The number of audit entries that a kept checkpoint proves to be lost. */
  readonly lostEntries: number;
  /** The checkpoint for --accept-restore; null if none is kept, or if it agrees. */
  readonly accept: number | null;
}

async function restore(config: RestoreConfig, file: string): Promise<void> {
  const bar = bars();
  const found = await restoreTo(
    locationOf(config, false),
    {
      source: sourceOf(file),
      identity: await backupIdentity(config),
      openKeyring: config['no-verify'] ? null : earlierKeyringOpener(config),
      watcher: bar,
    },
    (restored, { snapshot }) => lookAt(config, restored, snapshot),
  )
    .catch(error => Promise.reject(explained(error, file)))
    .finally(bar.end);
  const { manifest, proof } = found.restored;
  if (!config.json) process.stdout.write(describeFound(found));
  const again = await shouldRevoke(config, found.lost);
  const repeated = proof === null ? nothing : await record(config, found, again);
  for (const { reason, ...one } of repeated.failed) note(`not revoked again: ${described(one)}: ${reason}`);
  if (config.json) printJson({ ...factsOf(manifest), ...jsonOf(found, repeated) });
  else if (repeated.done.length > 0) process.stdout.write(`Revoked again: ${repeated.done.length}\n`);
}

const nothing: Repeated = { done: [], failed: [] };

async function lookAt(config: RestoreConfig, restored: Restored, { logs }: Snapshot): Promise<Found> {
  const file = config.checkpoint ?? inData(config, 'checkpoint.json');
  const kept = await readCheckpointFile(file).catch(() => {
    throw new BackupError(`${file} can’t be read as a checkpoint`);
  });
  if (kept === null && config.checkpoint !== null) throw new BackupError(`${file} does not exist`);
  const { proof, manifest } = restored;
  const disagrees = kept !== null && (await disagreement(kept, logs)) !== null;
  return {
    restored,
    lost: proof === null ? null : await lostSince(config, restored, proof),
    lostEntries:
      kept === null || proof === null ? 0 : lostEntries(kept, proof.keyring.logPublicKey, manifest.heads),
    accept: disagrees ? numberOf(kept) : null,
  };
}

async function lostSince(
  config: RestoreConfig,
  { manifest }: Restored,
  { keyring }: Proof,
): Promise<LostChanges | null> {
  const file = config['newer-log'];
  if (file === null) return null;
  await access(file).catch(error => Promise.reject(explained(error, file)));
  return lostChanges({
    file,
    publicKey: keyring.logPublicKey,
    hasMark: (hash, mark) => isMarked(keyring, hash, mark),
    heads: manifest.heads,
  });
}

function describeFound({ restored: { manifest, proof }, lost, lostEntries: entries, accept }: Found): string {
  const lines = [
    `Restored the backup of ${manifest.created_at}: ${countsOf(manifest)}`,
    proof === null ? 'Logs and stamps were not verified' : 'Its logs and rows are intact',
    ...(lost === null ? [] : describeLost(lost)),
    ...(entries > 0 && lost === null
      ? [
          `At least ${entries} audit entries came after this backup. Anything they revoked works again: use --newer-log to list it, or revoke it again manually`,
        ]
      : []),
    ...(accept === null ? [] : [`Start the service once with --accept-restore ${accept}`]),
  ];
  return `${lines.join('\n')}\n`;
}

function describeLost(lost: LostChanges): string[] {
  const { repeatable, byHand } = sorted(lost);
  const { unknown, archived, others } = lost;
  const isAll = [repeatable, byHand, unknown].every(({ length }) => length === 0) && archived === 0;
  return [
    ...(isAll ? ['Nothing was revoked after this backup'] : []),
    ...listed('Revoked or removed after this backup, and valid again:', repeatable.map(described)),
    ...listed('Changed or used after this backup; review each one:', byHand.map(described)),
    ...listed(
      'Actions that this version does not know, and that may have revoked something:',
      unknown.map(({ action, count }) => `${printable(action)}, ${counted(count, 'time')}`),
    ),
    ...(archived === 0
      ? []
      : [
          `${counted(archived, 'audit entry', 'audit entries')} written after this backup were moved to archives: review them`,
        ]),
    ...(others === 0 ? [] : [`Other changes that are lost: ${others}`]),
  ];
}

function listed(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines.map(line => `  ${line}`)];
}

function described({ action, name, id, at }: Withdrawal): string {
  return `${action} ${printable(name)} (${id ?? 'no id'}), ${at}`;
}

async function shouldRevoke(config: RestoreConfig, lost: LostChanges | null): Promise<readonly Withdrawal[]> {
  const revoked = lost === null ? [] : sorted(lost).repeatable;
  if (revoked.length === 0 || config['revoke-again']) return revoked;
  if (!process.stdin.isTTY) {
    note('they stay valid; restore with --revoke-again to revoke them');
    return [];
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(
    `Revoke ${revoked.length === 1 ? 'it' : `all ${revoked.length}`} again? [y/N] `,
  );
  terminal.close();
  return /^y(es)?$/i.test(answer.trim()) ? revoked : [];
}

/** Records the restore in every organization's audit log, before anything else happens there. */
async function record(
  config: RestoreConfig,
  { restored: { manifest }, accept }: Found,
  again: readonly Withdrawal[],
): Promise<Repeated> {
  const run = async (strongroom: Strongroom) => {
    const details = { backup_of: manifest.created_at, engine: manifest.engine, kept_checkpoint: accept };
    await strongroom.domain.accept({ verb: 'backup.restored', details });
    return withdrawAgain(strongroom, again);
  };
  // The restored data may be older than the kept checkpoint; --accept-restore is for the service.
  return withStrongroom(config, run, { isChecked: false });
}

function jsonOf({ restored, lost, lostEntries: entries, accept }: Found, { done, failed }: Repeated) {
  const shown = <T extends Withdrawal>({ organizationId, ...one }: T) => ({
    organization_id: organizationId,
    ...one,
  });
  const { repeatable, byHand } = lost === null ? { repeatable: null, byHand: null } : sorted(lost);
  return {
    verified: restored.proof !== null,
    accept_restore: accept,
    lost_audit_entries: entries,
    revoked_since: repeatable?.map(shown) ?? null,
    review: byHand?.map(shown) ?? null,
    unknown_actions: lost?.unknown ?? null,
    archived_audit_entries: lost?.archived ?? null,
    revoked_again: done.length,
    not_revoked_again: failed.map(shown),
  };
}
