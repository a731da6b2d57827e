/** `strongroom history`: prints the versions of a secret, without their values. */
import type { Version } from '../../client/api.ts';
import { readCommand } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { inVault, listed } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import type { Command } from '../terminal/command.ts';
import { printJson, table } from '../terminal/terminal.ts';

const usage = 'history NAME [flags]';
const summary = 'print the versions of a secret';

export const command: Command = {
  usage,
  summary,
  options: serviceOptions,
  completes: 'secrets',
  about: 'Prints the versions of a secret, newest first, without their values.',
  run: async args => {
    const { values, positionals } = readCommand(serviceOptions, args, process.env, 1);
    const [name] = positionals;
    if (name === undefined) throw new UsageError('the name of a secret is required');
    const { admin, vault } = await inVault(values);
    const { id } = await admin.find(vault.id, name);
    const versions = await listed(asked => admin.listSecretVersions({ id, ...asked }));
    if (values.json) printJson(versions);
    else process.stdout.write(table(versions.map(rowOf)));
  },
};

function rowOf({ version, created_at, created_by, current }: Version): string[] {
  return [String(version), created_at, created_by, current ? 'current' : ''];
}
