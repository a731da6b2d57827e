/** `strongroom rm`: deletes secrets. */
import { flag, readCommand } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { inVault } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import type { Command } from '../terminal/command.ts';
import { note, printable, printJson } from '../terminal/terminal.ts';

const usage = 'rm NAME... [flags]';
const summary = 'delete secrets';
const mostNames = 1_000;
const options = {
  ...serviceOptions,
  purge: flag('delete permanently; requires --yes'),
  yes: flag('confirm --purge'),
};

export const command: Command = {
  usage,
  summary,
  options,
  completes: 'secrets',
  about: 'Deletes secrets. They can be restored for 30 days, unless --purge is given.',
  run: async args => {
    const { values, positionals } = readCommand(options, args, process.env, mostNames);
    if (positionals.length === 0) throw new UsageError('the name of a secret is required');
    if (values.purge && !values.yes)
      throw new UsageError('--purge deletes permanently: add --yes to confirm');
    const { admin, vault } = await inVault(values);
    // All of them must exist before the first one is deleted.
    const found = [];
    for (const name of positionals) found.push(await admin.find(vault.id, name));
    const query = values.purge ? ({ purge: 'true' } as const) : {};
    for (const { id } of found) await admin.deleteSecret({ id, query });
    if (values.json) printJson(found.map(({ id, name }) => ({ id, name, deleted: true })));
    else for (const { name } of found) note(`${printable(name)} is deleted`);
  },
};
