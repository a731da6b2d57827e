/**
 * The keys and passphrases of backups. They come from files, the environment or the terminal, never from an argument.
 */
import { readFileSync } from 'node:fs';
import { BackupError } from '../../backup/backup-error.ts';
import { recipientsOf } from '../../backup/recipients.ts';
import {
  type AgeIdentity,
  identityFrom,
  passphraseIdentity,
  type Recipient,
} from '../../keyring/age/keys.ts';
import { passphraseIn } from '../../service/backups/scheduled-backups.ts';
import { recipientOptions } from '../../service/settings/command-options.ts';
import { type EnvironmentSecrets, flag, text, UsageError } from '../../service/settings/config.ts';
import { prompted } from '../terminal/input.ts';

export const sealingOptions = {
  ...recipientOptions,
  'backup-passphrase-prompt': flag('ask for the backup’s passphrase on the terminal'),
};

export const openingOptions = {
  'backup-key-file': text('FILE', 'the private key that opens the backup (see backup new-key)'),
  'backup-passphrase-file': text('FILE', 'the file with the passphrase that opens the backup'),
  'backup-passphrase-prompt': sealingOptions['backup-passphrase-prompt'],
};

interface PassphrasePlace extends Pick<EnvironmentSecrets, 'backupPassphrase'> {
  readonly 'backup-passphrase-file': string | null;
  readonly 'backup-passphrase-prompt'?: boolean;
}

export async function recipientsFrom(
  place: PassphrasePlace & { readonly 'backup-recipient': readonly string[] },
): Promise<Recipient[]> {
  const keys = place['backup-recipient'];
  const isAsked = place['backup-passphrase-file'] !== null || place['backup-passphrase-prompt'];
  // A passphrase from the environment is only used if nothing else is given.
  const passphrase = keys.length > 0 && !isAsked ? null : await passphraseFrom(place, askTwice);
  try {
    return recipientsOf({ keys, passphrase });
  } catch (error) {
    throw error instanceof BackupError ? new UsageError(error.message) : error;
  }
}

export async function backupIdentity(
  place: PassphrasePlace & { readonly 'backup-key-file': string | null },
): Promise<AgeIdentity> {
  const file = place['backup-key-file'];
  if (file !== null) return keyIn(file);
  const words = await passphraseFrom(place, () => prompted('Passphrase of the backup: '));
  if (words !== null) return passphraseIdentity(words);
  throw new UsageError(
    'a key or passphrase for the backup is required: --backup-key-file, --backup-passphrase-file, --backup-passphrase-prompt or STRONGROOM_BACKUP_PASSPHRASE',
  );
}

/** The format of age: comments, and the key on its own line. */
function keyIn(file: string): AgeIdentity {
  const lines = contentOf(file)
    .split(/\r?\n/)
    .filter(line => line !== '' && !line.startsWith('#'));
  const identity = lines.length === 1 ? identityFrom(lines[0]!.trim()) : null;
  if (identity === null)
    throw new UsageError('--backup-key-file must contain one private key, as created by backup new-key');
  return identity;
}

async function passphraseFrom(place: PassphrasePlace, ask: () => Promise<string>): Promise<string | null> {
  const file = place['backup-passphrase-file'];
  if (file !== null) return passphraseIn(file);
  return place['backup-passphrase-prompt'] ? ask() : place.backupPassphrase;
}

/** Asks twice, because a typing error would make the backup useless. */
async function askTwice(): Promise<string> {
  const first = await prompted('Passphrase of the backup: ');
  if (first !== (await prompted('Repeat passphrase: '))) throw new UsageError('the passphrases do not match');
  return first;
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new UsageError('--backup-key-file names a file that can’t be read');
  }
}
