/** `strongroom root-key rotate`: wraps the keyring by another root key, beside a running service. */
import { helpFor, newRootKeyOf, readConfig, rootKeyRotateOptions } from '../config.ts';
import { KeyringLock } from '../keyring/stored-keyring.ts';
import { askNewPassphrase, openStrongroom, rootKeySource } from '../open.ts';
import type { Command } from './command.ts';
import { operatorOf } from './operator.ts';

const usage = 'root-key rotate [flags]';
const summary = 'protect the keyring by another root key or passphrase';

export const command: Command = {
  usage,
  summary,
  help: () =>
    helpFor(
      usage,
      'Wraps the keyring by a new root key, in one step: before it the old key opens the data, after it the new one.',
      rootKeyRotateOptions,
    ),
  run: async args => {
    const config = readConfig(rootKeyRotateOptions, args, process.env);
    const to = newRootKeyOf(config);
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
