/** `strongroom diff`: compares the secrets of two vaults, or of a vault and a file, without showing values. */
import { existsSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { flag } from '../../service/settings/options.ts';
import { type Settings, serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf, wholeVault } from '../connection/vaults.ts';
import { commandOf } from '../terminal/command.ts';
import { contentOf } from '../terminal/input.ts';
import { painter, printable, printJson } from '../terminal/terminal.ts';

const options = { ...serviceOptions, 'exit-code': flag('exit with 1 if there is a difference') };

type Values = ReadonlyMap<string, string>;

export const command = commandOf({
  usage: 'diff [VAULT|FILE] VAULT|FILE [flags]',
  summary: 'compare two vaults, or a vault and a .env file',
  options,
  completes: 'files',
  about:
    'Prints the names that are only in the first (-), only in the second (+), or have different values (~). Values are never\nprinted. With one argument, the first is the vault in the settings. An argument that is an existing path is a file.',
  missing: 'a vault or a file to compare with is required',
  upTo: 2,
  run: async (values, first, [second]) => {
    const settings = settingsFor(values, process.env);
    const [from, to] = second === undefined ? [null, first] : [first, second];
    const difference = compare(await valuesOf(settings, from), await valuesOf(settings, to));
    if (values.json) printJson(difference);
    else process.stdout.write(shown(difference));
    const differs = Object.values(difference).some(names => names.length > 0);
    if (differs && values['exit-code']) process.exitCode = 1;
  },
});

async function valuesOf(settings: Settings, given: string | null): Promise<Values> {
  if (given !== null && (given.includes('/') || existsSync(given)))
    return new Map(Object.entries(parseEnv(contentOf(given)) as Record<string, string>));
  const { secrets } = await wholeVault(vaultOf(settings, given ?? settings.vault));
  return new Map(secrets.map(({ name, value }) => [name, value]));
}

type Difference = Readonly<Record<'removed' | 'added' | 'changed', readonly string[]>>;

function compare(from: Values, to: Values): Difference {
  const [before, after] = [[...from.keys()].sort(), [...to.keys()].sort()];
  return {
    removed: before.filter(name => !to.has(name)),
    added: after.filter(name => !from.has(name)),
    changed: before.filter(name => to.has(name) && to.get(name) !== from.get(name)),
  };
}

function shown({ removed, added, changed }: Difference): string {
  const paint = painter(process.env);
  const lines = [
    ...removed.map(name => [name, paint('red', `- ${printable(name)}`)] as const),
    ...added.map(name => [name, paint('green', `+ ${printable(name)}`)] as const),
    ...changed.map(name => [name, paint('yellow', `~ ${printable(name)}`)] as const),
  ];
  return lines
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, line]) => `${line}\n`)
    .join('');
}
