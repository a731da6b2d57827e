/** `strongroom root-key rotate`: protects the keyring with a new root key, while the service runs. */
import { KeyringWrapper } from '../../keyring/stored-keyring.ts';
import { withStrongroom } from '../../service/opening/open.ts';
import { askNewPassphrase, rootKeySource } from '../../service/opening/open-data.ts';
import { placeOptions } from '../../service/settings/command-options.ts';
import { flag, type RootKeyPlace, readConfig, text, UsageError } from '../../service/settings/config.ts';
import type { Command } from '../terminal/command.ts';
import { operatorOf } from './operator.ts';

const options = {
  ...placeOptions,
  'new-root-key-file': text('FILE', 'the new root key; created if the file does not exist'),
  'new-passphrase-file': text('FILE', 'the file with the new passphrase'),
  'new-passphrase-prompt': flag('ask for the new passphrase on the terminal'),
};

export const command: Command = {
  usage: 'root-key rotate [flags]',
  summary: 'protect the keyring with a new root key or passphrase',
  options,
  about:
    'Protects the keyring with a new root key or passphrase, in one step. Afterwards, the old one no longer opens the data.',
  run: async args => {
    const config = readConfig(options, args, process.env);
    const to = newRootKey(config);
    await withStrongroom(config, async ({ domain, newId }) => {
      const source = rootKeySource(to, askNewPassphrase);
      await domain.rotation.changeRootKey(
        id => operatorOf(id, newId),
        () => new KeyringWrapper(source),
      );
      process.stdout.write(afterwards(to['root-key-file']));
    });
  },
};

function afterwards(file: string | null): string {
  const named = file === null ? 'the new passphrase' : `the root key in ${file}`;
  const flags = file === null ? 'the flags for the passphrase' : `--root-key-file ${file}`;
  return `From now on, only ${named} opens this data. Restart every service with ${flags}.
Earlier backups still require the old root key: keep it as long as you keep them, or take a new backup now.\n`;
}

function newRootKey(config: ReturnType<typeof readConfig<typeof options>>): RootKeyPlace {
  const { data, 'new-root-key-file': file, 'new-passphrase-file': words } = config;
  const ask = config['new-passphrase-prompt'];
  if ([file !== null, words !== null, ask].filter(Boolean).length !== 1) {
    throw new UsageError(
      'exactly one of --new-root-key-file, --new-passphrase-file and --new-passphrase-prompt is required',
    );
  }
  const place = { data, 'root-key-file': file, 'passphrase-file': words, 'passphrase-prompt': ask };
  return { ...place, passphrase: null };
}
