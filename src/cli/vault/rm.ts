/** `strongroom rm`: deletes secrets. */
import { flag } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { inVault } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { note, printable, printJson } from '../terminal/terminal.ts';

const mostNames = 1_000;
const options = {
  ...serviceOptions,
  purge: flag('delete permanently; requires --yes'),
  yes: flag('confirm --purge'),
};

export const command = commandOf({
  usage: 'rm NAME... [flags]',
  summary: 'delete secrets',
  options,
  completes: 'secrets',
  about: 'Deletes secrets. They can be restored for 30 days, unless --purge is given.',
  missing: 'the name of a secret is required',
  upTo: mostNames,
  run: async (values, first, others) => {
    if (values.purge && !values.yes)
      throw new UsageError('--purge deletes permanently: add --yes to confirm');
    const { admin, vault } = await inVault(values);
    // All of them must exist before the first one is deleted.
    const found = [];
    for (const name of [first, ...others]) found.push(await admin.find(vault.id, name));
    const query = values.purge ? ({ purge: 'true' } as const) : {};
    for (const { id } of found) await admin.deleteSecret({ id, query });
    if (values.json) printJson(found.map(({ id, name }) => ({ id, name, deleted: true })));
    else for (const { name } of found) note(`deleted ${printable(name)}`);
  },
});
