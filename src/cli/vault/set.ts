/** `strongroom set`: creates a secret or gives it a new value. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written so
import type { Secret, SecretUpdate } from '../../client/api.ts';
import { flag, type readCommand, repeated, text, whole } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { adminFor } from '../connection/admin.ts';
import { unknownSecret } from '../connection/secret.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { tagOption } from '../connection/tags.ts';
import { commandOf } from '../terminal/command.ts';
import { endOption } from '../terminal/dates.ts';
import { generated, valueFrom } from '../terminal/input.ts';
import { done, note, printable } from '../terminal/terminal.ts';
import { warningsFor } from './value-warnings.ts';

const options = {
  ...serviceOptions,
  generate: flag('generate a random value of letters and digits; it is not printed'),
  length: whole('N', 'the length of a generated value (default: 32)', 32, 8, 1_024),
  template: flag(
    'the value contains references: ${NAME} to a secret of the vault, ${vault:VAULT/NAME} to another vault’s',
  ),
  'keep-value': flag('change only tags, expiry, rotation and content type'),
  'content-type': text('TYPE', 'the content type of the value, for example application/json'),
  tag: tagOption('add a tag, or replace its value'),
  'remove-tag': repeated('NAME', 'remove a tag', name => name),
  'rotate-every': text(
    'PERIOD',
    'give it a random value that often, such as 12h or 30d; never for no rotation',
  ),
  expires: endOption('when the secret expires, such as 2027-01-31 or 30d'),
};
type Values = ReturnType<typeof readCommand<typeof options>>['values'];

export const command = commandOf({
  usage: 'set NAME [-|@FILE] [flags]',
  summary: 'create a secret or give it a new value',
  options,
  completes: 'secrets',
  about:
    'Creates a secret, or stores a new version of it. The value comes from standard input (without its last newline), from\na file (unchanged), from a hidden prompt at a terminal, or is generated. Characters that are probably a mistake are\nreported, and stored.',
  more: 'Example:\n  strongroom set DATABASE_URL @url.txt --tag team=payments --expires 90d\n',
  missing: 'the name of a secret is required',
  upTo: 2,
  run: async (values, first, [second]) => {
    const [name, given] = split(first, second);
    const settings = settingsFor(values, process.env);
    const admin = adminFor(settings);
    const value = await valueIn(values, name, given);
    const vault = await admin.vault(settings.vault);
    const existing = await admin.search(vault.id, name);
    const body = {
      ...(value === null ? {} : { value, ...kindIn(values, existing) }),
      ...fieldsIn(values, existing),
    };
    if (existing === null && value === null) throw unknownSecret(name);
    const stored = await (existing === null
      ? admin.createSecret({ body: { vault_id: vault.id, name, value: value!, ...body } })
      : admin.updateSecret({ id: existing.id, body }));
    const said = value === null ? 'is updated' : `is now version ${stored.version}`;
    done(values.json, stored, `${printable(name)} ${said}`);
  },
});

/** `NAME VALUE`, or `NAME=VALUE` as in a shell. */
function split(name: string, given: string | undefined): [name: string, given: string | undefined] {
  const at = name.indexOf('=');
  return given === undefined && at > 0 ? [name.slice(0, at), name.slice(at + 1)] : [name, given];
}

/** Null if the secret keeps its value. */
async function valueIn(values: Values, name: string, given: string | undefined): Promise<string | null> {
  if (values.generate && given !== undefined)
    throw new UsageError('--generate can’t be combined with a value');
  if (values['keep-value'] && (values.generate || given !== undefined))
    throw new UsageError('--keep-value can’t be combined with --generate or a value');
  if (values['keep-value']) return null;
  if (values.generate) return generated(values.length);
  const value = await valueFrom(given, `Value of ${printable(name)}: `);
  for (const warning of warningsFor(value)) note(`warning: the value ${warning}`);
  return value;
}

/** Tags that are not named stay as they are. */
function fieldsIn(values: Values, existing: Secret | null): Omit<SecretUpdate, 'name' | 'value'> {
  const { tag, 'remove-tag': removed, 'content-type': content_type, expires } = values;
  const every = values['rotate-every'];
  const tags = Object.fromEntries(
    [...Object.entries(existing?.tags ?? {}), ...tag].filter(([name]) => !removed.includes(name)),
  );
  return {
    ...(content_type === null ? {} : { content_type }),
    ...(tag.length + removed.length === 0 ? {} : { tags }),
    ...(expires === null ? {} : { expiration_date: expires.at }),
    ...(every === null ? {} : { rotation: every === 'never' ? null : { every, by: { kind: 'random' } } }),
  };
}

/** A value replaces a template, unless it is one. */
function kindIn(values: Values, existing: Secret | null): Pick<SecretUpdate, 'kind'> {
  if (values.template) return { kind: 'template' };
  return existing?.kind === 'template' ? { kind: 'value' } : {};
}
