/** `strongroom root-key rotate`: protects the keyring with a new root key, while the service runs. */
import { KeyringWrapper } from '../../keyring/stored-keyring.ts';
import { withStrongroom } from '../../service/opening/open.ts';
import { readConfig } from '../../service/settings/config.ts';
import type { Command } from '../terminal/command.ts';
import { newKeyOptions, newRootKey, newSource } from './new-root-key.ts';
import { operatorOf } from './operator.ts';

export const command: Command = {
  usage: 'root-key rotate [flags]',
  summary: 'protect the keyring with a new root key or passphrase',
  options: newKeyOptions,
  about:
    'Protects the keyring with a new root key or passphrase, in one step. Afterwards, the old one no longer opens the data. If the root key has slots, the slot that opens the data for this command is replaced, and all others remain.',
  run: async args => {
    const config = readConfig(newKeyOptions, args, process.env);
    const to = newRootKey(config);
    const source = newSource(config);
    await withStrongroom(config, async ({ domain, newId }) => {
      const operator = (id: string) => operatorOf(id, newId);
      const hasSlots = await domain.rootKeySlots.hasSlots();
      if (hasSlots) {
        const make = async () => ({ root: await source.create(), settings: {} });
        await domain.rootKeySlots.replaceOpened(operator, make);
      } else await domain.rotation.changeRootKey(operator, () => new KeyringWrapper(source));
      process.stdout.write(afterwards(to['root-key-file'], hasSlots));
    });
  },
};

function afterwards(file: string | null, hasSlots: boolean): string {
  const named = file === null ? 'the new passphrase' : `the root key in ${file}`;
  const flags = file === null ? 'the flags for the passphrase' : `--root-key-file ${file}`;
  const now = hasSlots
    ? `From now on, ${named} opens this data instead of the old one; so do the other slots.`
    : `From now on, only ${named} opens this data.`;
  return `${now} Restart every service with ${flags}.
Earlier backups still require the old root key: keep it as long as you keep them, or take a new backup now.\n`;
}
