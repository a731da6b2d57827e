/** What backups are encrypted for: public keys or a passphrase, as texts that can be passed to another thread. */
import { passphraseRecipient, type Recipient, recipientFrom } from '../keyring/age/keys.ts';
import { BackupError } from './backup-error.ts';

export interface EncryptedFor {
  readonly keys: readonly string[];
  readonly passphrase: string | null;
}

const shortest = 12;

/** Throws if neither is given, or both. */
export function recipientsOf({ keys, passphrase }: EncryptedFor): Recipient[] {
  if (keys.length > 0 && passphrase !== null)
    throw new BackupError('--backup-recipient can’t be combined with a passphrase');
  if (keys.length > 0) return keys.map(key => recipientFrom(key)!);
  if (passphrase === null)
    throw new BackupError(
      'a backup must be encrypted: use --backup-recipient (strongroom backup new-key creates one), --backup-passphrase-file or STRONGROOM_BACKUP_PASSPHRASE',
    );
  if ([...passphrase].length < shortest)
    throw new BackupError(`the backup’s passphrase is too short: use at least ${shortest} characters`);
  return [passphraseRecipient(passphrase)];
}
