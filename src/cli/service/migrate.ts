/** `strongroom migrate`: migrates a database without serving it, or tries the migration without changing it. */
import { tmpdir } from 'node:os';
import { inScratch } from '../../backup/backup.ts';
import { isMarked } from '../../logs/chain.ts';
import { databaseSource } from '../../logs/source.ts';
import { verifyLogs } from '../../logs/verify.ts';
import { withStrongroom } from '../../service/opening/open.ts';
import { locationOf, requireDatabase } from '../../service/opening/open-data.ts';
import { keyringWrapperOf } from '../../service/opening/root-key-sources.ts';
import { placeOptions } from '../../service/settings/command-options.ts';
import { databasePath, flag, inData, readConfig, UsageError } from '../../service/settings/config.ts';
import { counted, Refusal } from '../../service/settings/report.ts';
import { lockFolder } from '../../store/sqlite/folder-lock.ts';
import { compactSqlite, openSnapshot, openTrial, type Snapshot } from '../../store/store.ts';
import type { Command } from '../terminal/command.ts';
import { printJson } from '../terminal/terminal.ts';

export const migrateOptions = {
  ...placeOptions,
  'dry-run': flag('try the migration and print what it would do, without changing the database'),
  compact: flag('release unused space of an embedded database, now and from now on'),
  json: flag('print one JSON object'),
};

type MigrateConfig = ReturnType<typeof readConfig<typeof migrateOptions>>;

export const command: Command = {
  usage: 'migrate [flags]',
  summary: 'migrate the database to this version, or dry-run it',
  options: migrateOptions,
  about:
    'Runs the migrations that the service would run at startup. With --dry-run, they run on a copy (PostgreSQL: in a transaction that is rolled back), and the result is verified. Requires the root key.',
  run: async args => {
    const config = readConfig(migrateOptions, args, process.env);
    const { lines, ...facts } = await migrateAs(config);
    if (config.json) printJson(facts);
    else process.stdout.write(`${lines.join('\n')}\n`);
  },
};

interface Outcome {
  /** The migrations that ran, or would run. */
  readonly steps: readonly string[];
  readonly migrated: boolean;
  /** The number of entries of each log that a dry run verified. */
  readonly verified?: Readonly<Record<'request' | 'audit', number>>;
  readonly lines: readonly string[];
}

export async function migrateAs(config: MigrateConfig): Promise<Outcome> {
  requireDatabase(config);
  if (config['dry-run'] && config.compact) throw new UsageError('--dry-run and --compact can’t be combined');
  const steps = await stepsLeft(config);
  return config['dry-run'] ? tried(config, steps) : migrated(config, steps);
}

async function stepsLeft(config: MigrateConfig): Promise<string[]> {
  const snapshot = await openSnapshot(locationOf(config, false));
  return snapshot.diagnostics.stepsLeft().finally(() => snapshot.close());
}

const nothingToDo = 'Nothing to do: the schema already matches this version';

async function tried(config: MigrateConfig, steps: readonly string[]): Promise<Outcome> {
  const verified = await inScratch(scratchFolder(config), 'migration', async scratch => {
    const trial = await openTrial(locationOf(config, false), scratch);
    return proven(config, trial).finally(() => trial.close());
  });
  const lines = [
    steps.length === 0 ? nothingToDo : `Would run: ${steps.join(', ')}`,
    `Verified: ${counted(verified.request, 'request entry', 'request entries')}, ${counted(verified.audit, 'audit entry', 'audit entries')}, and every row that they cover`,
  ];
  return { steps, migrated: false, verified, lines };
}

/** Next to the database, because its disk must have space for it anyway. */
function scratchFolder(config: MigrateConfig): string {
  return config['database-url'] === null ? inData(config, '') : tmpdir();
}

/** Verifies that the migrated data is what was written before. */
async function proven(config: MigrateConfig, trial: Snapshot) {
  const stored = await trial.keyring.read();
  if (stored === undefined)
    throw new Refusal('the database contains no keyring: there is nothing to migrate');
  const keyring = await keyringWrapperOf(config).unwrap(stored);
  const { entries, findings } = await verifyLogs(databaseSource(trial), {
    publicKey: keyring.logPublicKey,
    hasMark: (hash, mark) => isMarked(keyring, hash, mark),
  });
  const [first] = findings;
  if (first !== undefined)
    throw new Refusal(`after the migration the data would not be intact: ${first.what}: ${first.where}`);
  return entries;
}

async function migrated(config: MigrateConfig, steps: readonly string[]): Promise<Outcome> {
  const isEmbedded = config['database-url'] === null;
  const lock = isEmbedded ? lockFolder(inData(config, 'serve.lock')) : null;
  if (isEmbedded && lock === null)
    throw new Refusal('the database is being served: stop the service first, or use --dry-run');
  try {
    await withStrongroom(config, async () => {});
    const lines = [steps.length === 0 ? nothingToDo : `Done: ${steps.join(', ')}`];
    if (config.compact) lines.push(compacted(config));
    return { steps, migrated: steps.length > 0, lines };
  } finally {
    lock?.release();
  }
}

function compacted(config: MigrateConfig): string {
  if (config['database-url'] !== null)
    return 'PostgreSQL releases space itself (autovacuum), or with VACUUM FULL';
  const { before, after } = compactSqlite(databasePath(config));
  return `The database is now ${after} bytes; before, it was ${before}`;
}
