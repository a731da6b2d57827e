/** `strongroom audit`: proves what was written down, exports it, and prints the key that proves it. */
import { readFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { helpFor, inData, type Option, type Place, placeOptions, readConfig, UsageError } from '../config.ts';
import type { SignedCheckpoint } from '../logs/checkpoints.ts';
import { databaseSource, exportLines, fileSource, parseCheckpoint } from '../logs/source.ts';
import { type LogSource, type VerifyReport, verifyLogs } from '../logs/verify.ts';
import { openLogs, openStrongroom } from '../open.ts';
import type { Command } from './command.ts';

const file = (value: string, help: string): Option<string | null> => ({
  value,
  help,
  fallback: null,
  parse: text => text,
});

const verifyOptions = {
  ...placeOptions,
  file: file('FILE', 'verify an exported file instead of a database'),
  'public-key': file('FILE', 'the log’s public key (default log-public-key.pem in the data folder)'),
  checkpoint: file('FILE', 'a checkpoint that was kept outside of the database'),
  receipt: file('R[,R]', 'receipts that must be found'),
  json: {
    help: 'print the report as JSON',
    fallback: false,
    parse: (text: string) => text === 'true',
  } as Option<boolean>,
};

export const verifyCommand: Command = {
  usage: 'audit verify [flags]',
  summary: 'prove that no log entry was edited, removed or cut off',
  help: () =>
    helpFor(
      'audit verify [flags]',
      'Verifies the logs offline. Needs the public key, not the root key. Exit code 1 when something is found.',
      verifyOptions,
    ),
  run: async args => {
    const config = readConfig(verifyOptions, args, process.env);
    const publicKey = await readText(
      config['public-key'] ?? inData(config, 'log-public-key.pem'),
      '--public-key',
    );
    const kept = config.checkpoint === null ? undefined : await readCheckpoint(config.checkpoint);
    const receipts = config.receipt?.split(',') ?? [];
    const report = await withSource(config, config.file, source =>
      verifyLogs(source, { publicKey, kept, receipts }),
    );
    process.stdout.write(config.json ? `${JSON.stringify(report)}\n` : describe(report));
    if (!report.ok) process.exitCode = 1;
  },
};

export const exportCommand: Command = {
  usage: 'audit export [flags]',
  summary: 'write both logs and their checkpoints to standard output, as JSON Lines',
  help: () => helpFor('audit export [flags]', 'Exports the logs for `audit verify --file`.', placeOptions),
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
  summary: 'print the key that verifies the logs’ checkpoints',
  help: () => helpFor('audit public-key [flags]', 'Prints the log’s public key, as PEM.', placeOptions),
  run: async args => {
    const strongroom = await openStrongroom(readConfig(placeOptions, args, process.env), false);
    process.stdout.write(strongroom.keyring.logPublicKey);
    await strongroom.close();
  },
};

async function withSource<T>(
  place: Place,
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

async function readCheckpoint(path: string): Promise<SignedCheckpoint> {
  try {
    return parseCheckpoint(JSON.parse(await readText(path, '--checkpoint')) as Record<string, unknown>);
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError('--checkpoint does not hold a checkpoint');
  }
}

function readText(path: string, flag: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => {
    throw new UsageError(`${flag} can’t be read: ${path}`);
  });
}

function describe({ ok, entries, checkpoints, unsigned, findings }: VerifyReport): string {
  const lines = findings.map(({ what, where }) => `  ${what}: ${where}`);
  const counted = `${entries.request} request entries, ${entries.audit} audit entries, ${checkpoints} checkpoints, ${unsigned} entries not yet signed`;
  return `${ok ? 'The logs hold' : 'The logs do NOT hold'}: ${counted}\n${lines.map(line => `${line}\n`).join('')}`;
}
