/** `strongroom use-rules add` and `edit`: a rule from a preset, a file and flags, in ascending order of precedence. */
import { approvalDemands, responseModes } from '../../contract/use-names.ts';
import { usePresets } from '../../contract/use-presets.ts';
import { choice, names, type readCommand, text, whole } from '../../service/settings/options.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { type Admin, adminFor, listed } from '../connection/admin.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { contentOf, standardInput } from '../terminal/input.ts';
import { done, printable, printCreated } from '../terminal/terminal.ts';
import { foundRule } from './use-rules.ts';

const list = (value: string, help: string) => ({ ...names(help), value });
const ruleOptions = {
  ...serviceOptions,
  file: text('FILE|-', 'fields of the rule as a JSON object, as in the API'),
  host: list('HOST[,HOST]', 'the hosts that calls may go to: exact names'),
  method: list('METHOD[,METHOD]', 'the methods: GET, HEAD, POST, PUT, PATCH, DELETE'),
  path: list('PATTERN[,PATTERN]', 'the paths: * matches within a segment, ** across segments'),
  place: text(
    'PLACE',
    'where the value goes: bearer, header:NAME[:PREFIX], basic:USER, query:NAME, json:POINTER or form:FIELD',
  ),
  'request-header': list('NAME[,NAME]', 'headers that the caller may set'),
  'response-header': list('NAME[,NAME]', 'headers of the response that are returned'),
  response: choice('how much of the response is returned', responseModes),
  store: text(
    'SECRET:POINTER',
    'with --response store: the secret that gets a new version, and the field of the response',
  ),
  operation: list('OPERATION[,OPERATION]', 'for a key: sign, verify, decrypt'),
  algorithm: list('ALGORITHM[,ALGORITHM]', 'for a key: the algorithms, such as ES256'),
  'jwt-issuer': text('TEXT', 'for a key: sign only tokens of this issuer'),
  'jwt-audience': list('TEXT[,TEXT]', 'the audiences of such tokens'),
  'jwt-lifetime': whole('SECONDS', 'the longest lifetime of such tokens (default: 600)', 600, 1, 86_400),
  approval: choice('whether a person approves each call', approvalDemands),
  'rate-limit': whole('N', 'calls per minute (0: no limit)', -1, 0, 1_000_000),
};
const addOptions = {
  ...ruleOptions,
  secret: text('NAME', 'the secret that the rule is for'),
  key: text('NAME', 'the key that the rule is for'),
  preset: choice(
    'a well-known service: fills in everything except the paths',
    usePresets.map(({ id }) => id),
  ),
};
type Values = ReturnType<typeof readCommand<typeof ruleOptions>>['values'];

/** Only the fields that are set by flags. */
async function fieldsIn(values: Values, admin: Admin, vaultId: string): Promise<object> {
  const given = {
    hosts: values.host,
    methods: values.method,
    paths: values.path,
    request_headers: values['request-header'],
    response_headers: values['response-header'],
    operations: values.operation,
    algorithms: values.algorithm,
  };
  const lists = Object.entries(given).filter(([, all]) => all.length > 0);
  const rate = values['rate-limit'];
  return {
    ...(values.file === null ? {} : await objectIn(values.file)),
    ...Object.fromEntries(lists),
    ...(values.place === null ? {} : { place: placeIn(values.place) }),
    ...(values.response === null ? {} : { response: values.response }),
    ...(values.store === null ? {} : { store: await storeIn(values.store, admin, vaultId) }),
    ...(values['jwt-issuer'] === null ? {} : { jwt: shapeIn(values) }),
    ...(values.approval === null ? {} : { approval: values.approval }),
    ...(rate < 0 ? {} : { rate_limit: rate === 0 ? null : rate }),
  };
}

async function objectIn(file: string): Promise<object> {
  const source = file === '-' ? await standardInput() : contentOf(file);
  let fields: unknown = null;
  try {
    fields = JSON.parse(source);
  } catch {
    // Refused below, and not quoted.
  }
  if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) return fields;
  throw new UsageError('--file must name a file with a JSON object');
}

function placeIn(given: string): object {
  const [type, name = '', ...rest] = given.split(':');
  const more = [name, ...rest].join(':');
  const places: Readonly<Record<string, object>> = {
    bearer: {},
    header: { name, ...(rest.length === 0 ? {} : { prefix: rest.join(':') }) },
    basic: { username: more === '' ? null : more },
    query: { name: more },
    json: { pointer: more },
    form: { field: more },
  };
  if (!Object.hasOwn(places, type!))
    throw new UsageError(
      '--place must be bearer, header:NAME, basic:USER, query:NAME, json:POINTER or form:FIELD',
    );
  return { type, ...places[type!] };
}

async function storeIn(given: string, admin: Admin, vaultId: string): Promise<object> {
  const at = given.indexOf(':/');
  if (at <= 0) throw new UsageError('--store must be of the form SECRET:/POINTER');
  const { id } = await admin.find(vaultId, given.slice(0, at));
  return { secret_id: id, pointer: given.slice(at + 1) };
}

function shapeIn(values: Values): object {
  if (values['jwt-audience'].length === 0) throw new UsageError('--jwt-audience is required');
  return {
    issuer: values['jwt-issuer'],
    audiences: values['jwt-audience'],
    longest_lifetime: values['jwt-lifetime'],
  };
}

/** In a preset, words in capitals are placeholders for the user's own names. */
function presetFields(id: string | null, paths: readonly string[]): object {
  const preset = usePresets.find(one => one.id === id);
  if (preset === undefined) return {};
  const { id: _, title, ...fields } = preset;
  const open = fields.paths.filter(path => /[A-Z]{3}/.test(path));
  if (paths.length === 0 && open.length > 0) throw new UsageError(`--path is required, such as ${open[0]}`);
  return fields;
}

async function subjectIn(
  { secret, key }: { secret: string | null; key: string | null },
  admin: Admin,
  vaultId: string,
): Promise<object> {
  if ((secret === null) === (key === null)) throw new UsageError('--secret or --key is required');
  if (secret !== null) return { secret_id: (await admin.find(vaultId, secret)).id };
  const found = await listed(admin.listKeys, { vault_id: vaultId, q: key! });
  const one = found.find(({ name }) => name === key!.normalize('NFC'));
  if (one === undefined) throw new Refusal(`there is no key ${printable(JSON.stringify(key))}`);
  return { key_id: one.id };
}

export const addCommand = commandOf({
  usage: 'use-rules add NAME --secret SECRET [flags]',
  summary: 'create a use rule for a secret or a key',
  options: addOptions,
  about:
    'Creates a use rule and prints its id. It requires an API key that may reveal the secrets of the vault.',
  missing: 'a name for the use rule is required',
  run: async (values, name) => {
    const settings = settingsFor(values, process.env);
    const admin = adminFor(settings);
    const preset = presetFields(values.preset, values.path);
    const { id: vaultId } = await admin.vault(settings.vault);
    const subject = await subjectIn(values, admin, vaultId);
    const fields = { ...preset, ...(await fieldsIn(values, admin, vaultId)) };
    const created = await admin.createUseRule({ body: { name, ...subject, ...fields } });
    await printCreated(values, created, created.id, null);
  },
});

export const editCommand = commandOf({
  usage: 'use-rules edit RULE [flags]',
  summary: 'update a use rule',
  options: ruleOptions,
  about: 'Updates the fields that the flags name, and keeps the others. Approvals under the rule end.',
  missing: 'the name or id of a use rule is required',
  run: async (values, named) => {
    const settings = settingsFor(values, process.env);
    const admin = adminFor(settings);
    const { id, name, vault_id } = await foundRule(admin, settings.vault, named);
    const fields = await fieldsIn(values, admin, vault_id);
    if (Object.keys(fields).length === 0) throw new UsageError('a flag with the field to update is required');
    done(values.json, await admin.updateUseRule({ id, body: fields }), `updated ${printable(name)}`);
  },
});
