/** `strongroom vaults …`: the vaults that an API key reaches, and new ones. */
import { readCommand, readOptions, text } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { type Admin, adminFor } from '../connection/admin.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import type { Command } from '../terminal/command.ts';
import { note, printable, printJson, table } from '../terminal/terminal.ts';

interface Vault {
  readonly id: string;
  readonly name: string;
}

const { vault: _, ...options } = serviceOptions;

/** A vault that the project or the environment names is of no account here. */
function adminIn(values: { readonly url: string | null; readonly profile: string | null }): Admin {
  return adminFor(settingsFor({ ...values, vault: null }, process.env));
}

export const listCommand: Command = {
  usage: 'vaults list [flags]',
  summary: 'print the vaults',
  options,
  about: 'Prints the names and ids of the vaults that the API key reaches, the newest first.',
  run: async args => {
    const values = readOptions(options, args, process.env);
    const all = await adminIn(values).pages<Vault>('/v1/vaults', {});
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
    const created = await adminIn(values).call<Vault>('POST', '/v1/vaults', body);
    if (values.json) printJson(created);
    else {
      note(`the vault ${printable(name)} is created`);
      process.stdout.write(`${created.id}\n`);
    }
  },
};
