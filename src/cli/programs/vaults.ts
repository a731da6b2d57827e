/** `strongroom vaults …`: lists the vaults of an API key, and creates new ones. */
import { readCommand, readOptions, text } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { adminIn, listed } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import type { Command } from '../terminal/command.ts';
import { note, printable, printJson, table } from '../terminal/terminal.ts';

const { vault: _, ...options } = serviceOptions;

export const listCommand: Command = {
  usage: 'vaults list [flags]',
  summary: 'print the vaults',
  options,
  about: 'Prints the names and ids of the vaults that the API key has access to, newest first.',
  run: async args => {
    const values = readOptions(options, args, process.env);
    const all = await listed(adminIn(values).listVaults);
    if (values.json) printJson(all);
    else process.stdout.write(table(all.map(({ name, id }) => [name, id])));
  },
};

const createOptions = { ...options, description: text('TEXT', 'what the vault is for') };

export const createCommand: Command = {
  usage: 'vaults create NAME [flags]',
  summary: 'create a vault',
  options: createOptions,
  about: 'Creates a vault and prints its id.',
  run: async args => {
    const { values, positionals } = readCommand(createOptions, args, process.env, 1);
    const [name] = positionals;
    if (name === undefined) throw new UsageError('a name for the vault is required');
    const { description } = values;
    const body = { name, ...(description === null ? {} : { description }) };
    const created = await adminIn(values).createVault({ body });
    if (values.json) printJson(created);
    else {
      note(`the vault ${printable(name)} is created`);
      process.stdout.write(`${created.id}\n`);
    }
  },
};
