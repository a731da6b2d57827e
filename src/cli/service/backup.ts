/** `strongroom backup`: takes a backup while the service runs, verifies one, and creates the keys that open them. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import packageJson from '../../../package.json' with { type: 'json' };
import {
  type BackupParts,
  backupToFile,
  bytesIn,
  inScratch,
  proveIn,
  type Written,
  writeBackup,
} from '../../backup/backup.ts';
import { BackupError, explained } from '../../backup/backup-error.ts';
import type { Manifest } from '../../backup/contents.ts';
import type { OpenKeyring, Restored, Watcher } from '../../backup/load-and-verify.ts';
import { createDurably } from '../../base/durable-file.ts';
import { newKeyPair } from '../../keyring/age/keys.ts';
import { RootKeyError } from '../../keyring/root-key/root-key.ts';
import { locationOf, requireDatabase } from '../../service/opening/open-data.ts';
import { keyringWrapperOf } from '../../service/opening/root-key-sources.ts';
import { placeOptions } from '../../service/settings/command-options.ts';
import { type DataPlace, flag, readConfigOf, UsageError } from '../../service/settings/config.ts';
import { counted } from '../../service/settings/report.ts';
import type { Command } from '../terminal/command.ts';
import { type Progress, progress } from '../terminal/progress.ts';
import { printJson } from '../terminal/terminal.ts';
import { backupIdentity, openingOptions, recipientsFrom, sealingOptions } from './backup-keys.ts';

const backupOptions = {
  ...placeOptions,
  ...sealingOptions,
  'no-verify': flag('don’t restore and verify the backup before it counts as done'),
  json: flag('print one JSON object'),
};
type BackupConfig = ReturnType<typeof readConfigOf<typeof backupOptions>>['config'];

export const command: Command = {
  usage: 'backup FILE|- [flags]',
  summary: 'take an encrypted backup while the service runs, and verify it',
  options: backupOptions,
  completes: 'files',
  about:
    'Writes everything except the root key to FILE, or with - to standard output, as a consistent snapshot. The backup is restored into a scratch database and verified before it counts as done, which requires the root key and as much disk space again.',
  run: async args => {
    const { config, positionals } = readConfigOf(backupOptions, args, process.env, 1);
    const file = fileIn(positionals);
    requireDatabase(config);
    const bar = bars();
    const parts: BackupParts = {
      location: locationOf(config, false),
      recipients: await recipientsFrom(config),
      version: packageJson.version,
      now: Date.now,
      watcher: bar,
    };
    const written = await (file === '-' ? toOutput(config, parts) : toFile(config, parts, file)).finally(
      bar.end,
    );
    if (file !== '-') say(config, written);
  },
};

const toFile = (config: BackupConfig, parts: BackupParts, file: string) =>
  backupToFile(parts, file, config['no-verify'] ? null : keyringOpener(config));

/** Piped output can't be taken back, so nothing is written before it is verified. */
async function toOutput(config: BackupConfig, parts: BackupParts): Promise<Written> {
  const write = (bytes: Buffer) => pipeline([bytes], process.stdout, { end: false });
  if (config['no-verify']) return writeBackup(parts, write);
  return inScratch(tmpdir(), 'backup', async scratch => {
    const file = join(scratch, 'backup');
    const taken = await backupToFile(parts, file, keyringOpener(config));
    await pipeline(bytesIn(file), process.stdout, { end: false });
    return taken;
  });
}

function say(config: BackupConfig, { manifest, bytes, sha256 }: Written): void {
  const verified = !config['no-verify'];
  const text = `Backup of ${manifest.created_at}: ${countsOf(manifest)}, ${bytes} bytes`;
  if (config.json) printJson({ ...factsOf(manifest), bytes, sha256, verified });
  else process.stdout.write(`${text}\n${verified ? 'Restored and verified' : 'Not verified'}\n`);
}

const verifyOptions = {
  ...placeOptions,
  ...openingOptions,
  'file-only': flag('only verify that the file is complete and unchanged; requires no root key'),
  json: flag('print one JSON object'),
};

export const verifyCommand: Command = {
  usage: 'backup verify FILE [flags]',
  summary: 'restore a backup into a scratch database and verify it',
  options: verifyOptions,
  completes: 'files',
  about: 'Verifies that a backup can be restored: every row, the logs and all stamps. Changes nothing.',
  run: async args => {
    const { config, positionals } = readConfigOf(verifyOptions, args, process.env, 1);
    const file = fileIn(positionals);
    const identity = await backupIdentity(config);
    const bar = bars();
    const openKeyring = config['file-only'] ? null : earlierKeyringOpener(config);
    const { manifest, proof } = await inScratch(tmpdir(), 'verify', scratch =>
      proveIn(scratch, { source: sourceOf(file), identity, openKeyring, watcher: bar }),
    )
      .catch(error => Promise.reject(explained(error, file)))
      .finally(bar.end);
    if (config.json) printJson({ ...factsOf(manifest), verified: proof === null ? 'file' : 'all' });
    else process.stdout.write(`${verified({ manifest, proof })} (${countsOf(manifest)})\n`);
  },
};

function verified({ manifest, proof }: Pick<Restored, 'manifest' | 'proof'>): string {
  const what = `The backup of ${manifest.created_at} is complete and unchanged`;
  return proof === null
    ? `${what}; logs and stamps were not verified`
    : `${what}, and its logs and rows are intact`;
}

export const newKeyCommand: Command = {
  usage: 'backup new-key FILE',
  summary: 'create a key pair for encrypting backups',
  options: {},
  completes: 'files',
  about:
    'Writes a new private key to FILE and prints its public key, for --backup-recipient. Keep the private key away from the service: only restoring needs it.',
  run: async args => {
    const { positionals } = readConfigOf({}, args, process.env, 1);
    const { recipient, identity } = newKeyPair();
    const text = `# Opens backups that were encrypted for ${recipient}\n${identity}\n`;
    await createDurably(fileIn(positionals), text, 0o400).catch(error => {
      throw new BackupError(`the key can’t be written (${error.code})`);
    });
    process.stdout.write(`${recipient}\n`);
  },
};

export function fileIn([file]: readonly string[]): string {
  if (file === undefined) throw new UsageError('the name of a file is required');
  return file;
}

export function sourceOf(file: string): AsyncIterable<Uint8Array> {
  return file === '-' ? process.stdin : bytesIn(file);
}

function keyringOpener(place: DataPlace): OpenKeyring {
  const wrapper = keyringWrapperOf(place);
  return stored => wrapper.unwrap(stored);
}

/** The same for an earlier backup, which may have had another root key. */
export function earlierKeyringOpener(place: DataPlace): OpenKeyring {
  const open = keyringOpener(place);
  return stored =>
    open(stored).catch(error => {
      if (!(error instanceof RootKeyError && /not the one/.test(error.message))) throw error;
      throw new RootKeyError(
        `${error.message}. A backup from before a change of the root key requires the root key of that time`,
        error,
      );
    });
}

/** A progress bar, only on a terminal and for longer work. */
export function bars(): Watcher & { end(): void } {
  let expected = 0;
  let done = 0;
  let bar: Progress | null = null;
  return {
    expect: steps => {
      expected += steps;
      bar?.end();
      bar = progress(expected);
      bar.advance(done);
    },
    advance: steps => {
      done += steps;
      bar?.advance(steps);
    },
    end: () => bar?.end(),
  };
}

export function factsOf({ heads, schema, rows, ...facts }: Manifest) {
  return { ...facts, rows: rowsIn({ rows }) };
}

function rowsIn({ rows }: Pick<Manifest, 'rows'>): number {
  return Object.values(rows).reduce((sum, count) => sum + count, 0);
}

export function countsOf(manifest: Manifest): string {
  const { organizations: count } = manifest;
  return `${counted(count, 'organization')}, ${counted(rowsIn(manifest), 'row')}`;
}
