/** `strongroom set`: creates a secret or gives it a new value. */
import { flag, text, whole } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { adminFor } from '../connection/admin.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { generated, valueFrom } from '../terminal/input.ts';
import { done, printable } from '../terminal/terminal.ts';

const options = {
  ...serviceOptions,
  generate: flag('generate a random value of letters and digits; it is not printed'),
  length: whole('N', 'the length of a generated value (default: 32)', 32, 8, 1_024),
  'content-type': text('TYPE', 'the content type of the value, for example application/json'),
};

export const command = commandOf({
  usage: 'set NAME [-|@FILE] [flags]',
  summary: 'create a secret or give it a new value',
  options,
  completes: 'secrets',
  about:
    'Creates a secret, or stores a new version of it. The value comes from standard input (without its last newline), from\na file (unchanged), from a hidden prompt at a terminal, or is generated.',
  missing: 'the name of a secret is required',
  upTo: 2,
  run: async (values, first, [second]) => {
    const [name, given] = split(first, second);
    if (values.generate && given !== undefined)
      throw new UsageError('--generate can’t be combined with a value');
    const admin = adminFor(settingsFor(values, process.env));
    const value = values.generate
      ? generated(values.length)
      : await valueFrom(given, `Value of ${printable(name)}: `);
    const vault = await admin.vault(settingsFor(values, process.env).vault);
    const type = values['content-type'] === null ? {} : { content_type: values['content-type'] };
    const existing = await admin.search(vault.id, name);
    const stored = await (existing === null
      ? admin.createSecret({ body: { vault_id: vault.id, name, value, ...type } })
      : admin.updateSecret({ id: existing.id, body: { value, ...type } }));
    done(values.json, stored, `${printable(name)} is now version ${stored.version}`);
  },
});

/** `NAME VALUE`, or `NAME=VALUE` as in a shell. */
function split(name: string, given: string | undefined): [name: string, given: string | undefined] {
  const at = name.indexOf('=');
  return given === undefined && at > 0 ? [name.slice(0, at), name.slice(at + 1)] : [name, given];
}
