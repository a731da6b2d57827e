/** `strongroom root-key rotate`: wraps the keyring by another root key, beside a running service. */
import { flag, helpFor, placeOptions, type RootKeyPlace, readConfig, text, UsageError } from '../config.ts';
import { KeyringLock } from '../keyring/stored-keyring.ts';
import { askNewPassphrase, openStrongroom, rootKeySource } from '../open.ts';
import type { Command } from './command.ts';
import { operatorOf } from './operator.ts';

const usage = 'root-key rotate [flags]';
const summary = 'protect the keyring by another root key or passphrase';

const options = {
  ...placeOptions,
  'new-root-key-file': text('FILE', 'the new root key; made where there is none yet'),
  'new-passphrase-file': text('FILE', 'protect the keyring by the passphrase in FILE from now on'),
  'new-passphrase-prompt': flag('ask for that passphrase, twice'),
};

export const command: Command = {
  usage,
  summary,
  help: () =>
    helpFor(
      usage,
      'Wraps the keyring by a new root key, in one step: before it the old key opens the data, after it the new one.',
      options,
    ),
  run: async args => {
    const config = readConfig(options, args, process.env);
    const to = newRootKey(config);
    const strongroom = await openStrongroom(config, false);
    try {
      const { domain, newId } = strongroom;
      const source = rootKeySource(to, askNewPassphrase);
      await domain.rotation.changeRootKey(
        id => operatorOf(id, newId),
        () => new KeyringLock(source),
      );
      const named = to['root-key-file'] === null ? 'the new passphrase' : `the key in ${to['root-key-file']}`;
      process.stdout.write(`From now on ${named} opens this data, and the old one does not.\n`);
    } finally {
      await strongroom.close();
    }
  },
};

function newRootKey(config: ReturnType<typeof readConfig<typeof options>>): RootKeyPlace {
  const { data, 'new-root-key-file': file, 'new-passphrase-file': words } = config;
  const ask = config['new-passphrase-prompt'];
  if ([file !== null, words !== null, ask].filter(Boolean).length !== 1) {
    throw new UsageError(
      'give one of --new-root-key-file, --new-passphrase-file and --new-passphrase-prompt',
    );
  }
  const place = { data, 'root-key-file': file, 'passphrase-file': words, 'passphrase-prompt': ask };
  return { ...place, passphrase: null };
}
