/** `strongroom get`: prints one value. */
import { flag, readCommand, text } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf } from '../connection/vaults.ts';
import type { Command } from '../terminal/command.ts';
import { printTo } from '../terminal/output.ts';
import { printJson } from '../terminal/terminal.ts';

const usage = 'get NAME [flags]';
const summary = 'print the value of a secret';
const options = {
  ...serviceOptions,
  'no-newline': flag('print only the value, without a newline after it'),
  out: text('FILE', 'write the value to FILE, which only you can read, instead of printing it'),
};

export const command: Command = {
  usage,
  summary,
  options,
  completes: 'secrets',
  about: 'Prints the value of a secret and a newline.',
  run: async args => {
    const { values, positionals } = readCommand(options, args, process.env, 1);
    const [name] = positionals;
    if (name === undefined) throw new UsageError('the name of a secret is required');
    const secret = await vaultOf(settingsFor(values, process.env)).one(name);
    if (values.out !== null) await printTo(values.out, secret.value);
    else if (values.json) printJson(secret);
    else process.stdout.write(values['no-newline'] ? secret.value : `${secret.value}\n`);
  },
};
