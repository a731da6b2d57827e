/** `strongroom get`: prints one value. */
import { flag, text } from '../../service/settings/options.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf } from '../connection/vaults.ts';
import { commandOf } from '../terminal/command.ts';
import { printJson, printTo } from '../terminal/terminal.ts';

const options = {
  ...serviceOptions,
  'no-newline': flag('print only the value, without a newline after it'),
  out: text('FILE', 'write the value to FILE, which only you can read, instead of printing it'),
};

export const command = commandOf({
  usage: 'get NAME [flags]',
  summary: 'print the value of a secret',
  options,
  completes: 'secrets',
  about: 'Prints the value of a secret and a newline.',
  missing: 'the name of a secret is required',
  run: async (values, name) => {
    const secret = await vaultOf(settingsFor(values, process.env)).one(name);
    if (values.out !== null) await printTo(values.out, secret.value);
    else if (values.json) printJson(secret);
    else process.stdout.write(values['no-newline'] ? secret.value : `${secret.value}\n`);
  },
});
