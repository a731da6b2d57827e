/** `strongroom audit`: verifies the logs, exports them, and prints the public key that verifies them. */
import { readFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseCheckpoint } from '../../logs/checkpoints.ts';
import { databaseSource, exportLines, fileSource } from '../../logs/source.ts';
import { type LogSource, type VerifyReport, verifyLogs } from '../../logs/verify.ts';
import { withStrongroom } from '../../service/opening/open.ts';
import { archiveFolder, openLogs } from '../../service/opening/open-data.ts';
import { archiveOptions, placeOptions } from '../../service/settings/command-options.ts';
import { type DataPlace, flag, inData, readConfig, text, UsageError } from '../../service/settings/config.ts';
import { names } from '../../service/settings/options.ts';
import { counted, messageOf } from '../../service/settings/report.ts';
import type { Command } from '../terminal/command.ts';
import { note } from '../terminal/terminal.ts';

const file = (help: string) => text('FILE', help, given => given);

const verifyOptions = {
  ...placeOptions,
  file: file('verify an exported file instead of a database'),
  'public-key': file('the log public key (default: log-public-key.pem in the data folder)'),
  checkpoint: file('a checkpoint kept outside the database'),
  receipt: {
    ...names('receipts that must be in the logs; can be repeated'),
    value: 'R[,R]',
    parse: (given: string) => given.split(','),
  },
  ...archiveOptions,
  'without-archives': flag('don’t verify the archives of the audit log'),
  json: flag('print the report as JSON'),
};

type VerifyConfig = ReturnType<typeof readConfig<typeof verifyOptions>>;

/** Only 0 and 4 prove anything. A usage error exits with 2, as everywhere. */
const exitCodes = { holds: 0, found: 1, unverified: 3, holdsAgainstItself: 4 } as const;

export const verifyCommand: Command = {
  usage: 'audit verify [flags]',
  summary: 'verify that no log entry was edited, removed or cut off',
  options: verifyOptions,
  about: 'Verifies the logs offline. Requires the log public key, not the root key, and changes nothing.',
  more: `Exit codes:
  0  the logs are intact and match the given checkpoint (--checkpoint)
  1  something was edited, removed, cut off or never signed
  2  the command line is not valid
  3  the logs could not be verified: something can’t be read, or is not signed yet
  4  the logs are intact, but only according to their own checkpoints: no --checkpoint was given
`,
  run: async args => {
    const config = readConfig(verifyOptions, args, process.env);
    process.exitCode = await verify(config).catch(unverified);
  },
};

/** If retention has just removed entries, a retry waits for the checkpoint that signs their removal. */
const attempts = 3;
const betweenAttempts = 1_500;

async function verify(config: VerifyConfig): Promise<number> {
  const options = {
    publicKey: await publicKeyOf(config),
    kept: config.checkpoint === null ? undefined : parseCheckpoint(await readFile(config.checkpoint, 'utf8')),
    receipts: config.receipt,
    archives: config['without-archives'] ? undefined : archiveFolder(config),
  };
  const once = () => withSource(config, config.file, source => verifyLogs(source, options));
  let report = await once();
  for (let attempt = 1; report.ok && report.open > 0 && attempt < attempts; attempt++) {
    await sleep(betweenAttempts);
    report = await once();
  }
  process.stdout.write(config.json ? `${JSON.stringify(report)}\n` : describeReport(report));
  return exitCodes[outcomeOf(report)];
}

/** A service writes the key into its data folder; after a restore, it may not have been started yet. */
async function publicKeyOf(config: VerifyConfig): Promise<string> {
  const file = config['public-key'] ?? inData(config, 'log-public-key.pem');
  return readFile(file, 'utf8').catch(() => {
    throw new UsageError(
      `${file} can’t be read: use --public-key, or start the service once (strongroom audit public-key prints it)`,
    );
  });
}

function outcomeOf({ ok, open, kept }: VerifyReport): keyof typeof exitCodes {
  if (!ok) return 'found';
  if (open > 0) return 'unverified';
  return kept === null ? 'holdsAgainstItself' : 'holds';
}

/** A separate exit code: the logs are neither proven intact nor found damaged. */
async function unverified(error: unknown): Promise<number> {
  note(`the logs could not be verified: ${await messageOf(error)}`);
  return exitCodes.unverified;
}

export const exportCommand: Command = {
  usage: 'audit export [flags]',
  summary: 'export both logs and their checkpoints to standard output, as JSON Lines',
  options: placeOptions,
  about: 'Exports the logs for `audit verify --file`.',
  run: async args => {
    const config = readConfig(placeOptions, args, process.env);
    await withSource(config, null, source =>
      pipeline(exportLines(source, { exported_at: new Date().toISOString() }), process.stdout, {
        end: false,
      }),
    );
  },
};

export const publicKeyCommand: Command = {
  usage: 'audit public-key [flags]',
  summary: 'print the public key that verifies the logs',
  options: placeOptions,
  about: 'Prints the log public key as PEM.',
  run: async args => {
    await withStrongroom(readConfig(placeOptions, args, process.env), async ({ keyring }) => {
      process.stdout.write(keyring.logPublicKey);
    });
  },
};

async function withSource<T>(
  place: DataPlace,
  exported: string | null,
  use: (source: LogSource) => Promise<T>,
): Promise<T> {
  if (exported !== null) return use(fileSource(exported));
  const store = await openLogs(place);
  try {
    return await use(databaseSource(store));
  } finally {
    await store.close();
  }
}

const headlines: Readonly<Record<keyof typeof exitCodes, string>> = {
  holds: 'The logs are intact',
  holdsAgainstItself: 'The logs are intact',
  found: 'The logs are NOT intact',
  unverified: 'The logs can’t be verified yet',
};

function describeReport(report: VerifyReport): string {
  const { entries, checkpoints, archived, unsigned, open, continued, findings } = report;
  const counts = [
    counted(entries.request, 'request entry', 'request entries'),
    counted(entries.audit, 'audit entry', 'audit entries'),
    counted(checkpoints, 'checkpoint'),
    `${counted(unsigned, 'entry', 'entries')} not yet signed`,
  ];
  const lines = [
    `${headlines[outcomeOf(report)]}: ${counts.join(', ')}`,
    ...(archived === null ? [] : [archivesLine(archived)]),
    ...findings.map(({ what, where }) => `  ${what}: ${where}`),
    ...(open === 0
      ? []
      : [`  retention removed entries and has not signed the removal yet: verify again later`]),
    ...continued.map(
      ({ from, to, at }) =>
        `  PostgreSQL switched from timeline ${from} to ${to} at ${at}: earlier entries that the new primary had not received are lost`,
    ),
    againstWhat(report),
  ];
  return `${lines.join('\n')}\n`;
}

function archivesLine({ number, entries }: NonNullable<VerifyReport['archived']>): string {
  const files = counted(number, 'archive');
  return entries === null
    ? `  ${files} not verified`
    : `  ${files} with ${counted(entries, 'audit entry', 'audit entries')}`;
}

function againstWhat({ kept }: VerifyReport): string {
  return kept === null
    ? 'Verified only against the checkpoints in the log itself. Use --checkpoint to detect that the end of the log was removed together with its checkpoints.'
    : `Verified against the given checkpoint ${kept.number} of ${kept.created_at}.`;
}
