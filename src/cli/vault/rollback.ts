/** `strongroom rollback`: gives a secret the value of an earlier version, as a new version. */
import { readCommand } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { inVault } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import type { Command } from '../terminal/command.ts';
import { note, printable, printJson } from '../terminal/terminal.ts';

const usage = 'rollback NAME VERSION [flags]';
const summary = 'give a secret the value of an earlier version';

export const command: Command = {
  usage,
  summary,
  options: serviceOptions,
  completes: 'secrets',
  about: 'Stores the value of an earlier version as a new version. Nothing is lost.',
  run: async args => {
    const { values, positionals } = readCommand(serviceOptions, args, process.env, 2);
    const [name, version = ''] = positionals;
    if (name === undefined) throw new UsageError('the name of a secret is required');
    if (!/^[1-9]\d{0,8}$/.test(version))
      throw new UsageError('a version is required: see strongroom history');
    const { admin, vault } = await inVault(values);
    const { id } = await admin.find(vault.id, name);
    const stored = await admin.rollbackSecret({ id, body: { version: Number(version) } });
    if (values.json) printJson(stored);
    else note(`${printable(name)} is now version ${stored.version}, with the value of version ${version}`);
  },
};
