/** `strongroom narrow`: prints a weaker access key, offline and without storing anything. */
import { isCidr } from '../../access/address.ts';
import { narrow } from '../../client/narrow.ts';
import {
  type Environment,
  flag,
  list,
  names,
  type Option,
  readCommand,
  text,
} from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { operationsOption } from '../connection/operations-option.ts';
import type { Command } from '../terminal/command.ts';
import { durationIn } from '../terminal/dates.ts';
import { contentOf, standardInput } from '../terminal/input.ts';
import { outOption, printCreated } from '../terminal/terminal.ts';

const kinds = ['secret', 'key', 'certificate'] as const;

const kindList = list(
  'KIND',
  part => kinds.some(kind => kind === part),
  `must be one or more of: ${kinds.join(', ')}`,
  'only resources of these kinds: secret, key, certificate',
) as Option<readonly (typeof kinds)[number][]>;

const duration: Option<number | null> = {
  value: 'DURATION',
  help: 'let it expire after this time, such as 10m or 12h',
  fallback: null,
  parse: given => {
    const milliseconds = durationIn(given);
    if (milliseconds === null) throw new Error('must be a duration such as 90s, 10m, 12h or 7d');
    return milliseconds / 1_000;
  },
};

const options = {
  names: names('only resources with these names, in which * matches anything'),
  kinds: kindList,
  'names-only': flag('read names, but no values; use rules still apply'),
  'no-use': flag('read only: no use of secrets and keys through use rules'),
  operations: operationsOption('only these operations with keys, of those that it may do'),
  from: list(
    'CIDR',
    isCidr,
    'must be ranges such as 10.0.0.0/8 or 2001:db8::/32',
    'only from these addresses',
  ),
  'expires-in': duration,
  'expires-at': text('DATE', 'let it expire at this time, such as 2027-01-31T00:00:00Z'),
  ...outOption,
  json: flag('print JSON: the key, and its id in the request log'),
};
type Values = ReturnType<typeof readCommand<typeof options>>['values'];

export const command: Command = {
  usage: 'narrow [-|@FILE] [flags]',
  summary: 'derive a weaker access key from an access key',
  options,
  about:
    'Derives a weaker access key from the one in STRONGROOM_ACCESS_KEY, on standard input (-) or in a file, and prints it. It works\noffline. The new key ends with the original, and can be restricted further.',
  run: async args => {
    const { values, positionals } = readCommand(options, args, process.env, 1);
    const key = await keyFrom(positionals[0], process.env);
    const { token, id } = await narrow(key, restrictionsIn(values)).catch(error => {
      throw new UsageError((error as Error).message.replace(/\.$/, ''));
    });
    await printCreated(values, { token, id }, token, `its id in the request log is ${id}`);
  },
};

/** Never from an argument, because other users can see arguments. */
async function keyFrom(source: string | undefined, environment: Environment): Promise<string> {
  if (source === '-') return standardInput();
  if (source?.startsWith('@')) return contentOf(source.slice(1));
  if (source !== undefined)
    throw new UsageError('the access key must come from -, @FILE or STRONGROOM_ACCESS_KEY');
  const key = environment.STRONGROOM_ACCESS_KEY ?? '';
  if (key === '') throw new UsageError('STRONGROOM_ACCESS_KEY is required: the access key to restrict');
  return key;
}

function restrictionsIn(values: Values) {
  return {
    ...(values.names.length > 0 && { names: values.names }),
    ...(values.kinds.length > 0 && { kinds: values.kinds }),
    ...(values['names-only'] && { namesOnly: true as const }),
    ...(values['no-use'] && { mayUse: false as const }),
    ...(values.operations.length > 0 && { operations: values.operations }),
    ...(values.from.length > 0 && { cidrs: values.from }),
    ...(values['expires-in'] !== null && { expiresInSeconds: values['expires-in'] }),
    ...(values['expires-at'] !== null && { expiresAt: new Date(values['expires-at']) }),
  };
}
