/** `strongroom history`: prints the versions of a secret, without their values. */
import { readCommand } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { adminFor } from '../connection/admin.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import type { Command } from '../terminal/command.ts';
import { printJson, table } from '../terminal/terminal.ts';

const usage = 'history NAME [flags]';
const summary = 'print the versions of a secret';

interface Version {
  readonly version: number;
  readonly created_at: string;
  readonly created_by: string;
  readonly current: boolean;
}

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
    const settings = settingsFor(values, process.env);
    const admin = adminFor(settings);
    const { id } = await admin.find((await admin.vault(settings.vault)).id, name);
    const versions = await admin.pages<Version>(`/v1/secrets/${id}/versions`, {});
    if (values.json) printJson(versions);
    else process.stdout.write(table(versions.map(rowOf)));
  },
};

function rowOf({ version, created_at, created_by, current }: Version): string[] {
  return [String(version), created_at, created_by, current ? 'current' : ''];
}
