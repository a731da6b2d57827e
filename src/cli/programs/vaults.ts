/** `strongroom vaults …`: lists the vaults of an API key, and creates new ones. */
import { text } from '../../service/settings/options.ts';
import { adminIn, listed } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { printable, printCreated, printList } from '../terminal/terminal.ts';

const { vault: _, ...options } = serviceOptions;

export const listCommand = commandOf({
  usage: 'vaults list [flags]',
  summary: 'print the vaults',
  options,
  about: 'Prints the names and ids of the vaults that the API key has access to, newest first.',
  run: async values => {
    printList(values.json, await listed(adminIn(values).listVaults), ({ name, id }) => [name, id]);
  },
});

const createOptions = { ...options, description: text('TEXT', 'what the vault is for') };

export const createCommand = commandOf({
  usage: 'vaults create NAME [flags]',
  summary: 'create a vault',
  options: createOptions,
  about: 'Creates a vault and prints its id.',
  missing: 'a name for the vault is required',
  run: async (values, name) => {
    const { description } = values;
    const body = { name, ...(description === null ? {} : { description }) };
    const created = await adminIn(values).createVault({ body });
    await printCreated(values, created, created.id, `created the vault ${printable(name)}`);
  },
});
