/**
 * `strongroom diff`: compares the secrets of two vaults, of a vault and a file, or of a stage, without showing values. With
 * an API key the service compares vaults, so that no value leaves it.
 */
import { existsSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { ComparedVaults } from '../../client/api.ts';
import { flag, text } from '../../service/settings/options.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { type Settings, serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf, wholeVault } from '../connection/vaults.ts';
import { commandOf } from '../terminal/command.ts';
import { contentOf } from '../terminal/input.ts';
import { painter, printable, printJson } from '../terminal/terminal.ts';

const options = {
  ...serviceOptions,
  stage: text('NAME', 'compare the vaults of a stage instead'),
  'exit-code': flag('exit with 1 if there is a difference'),
};

type Values = ReadonlyMap<string, string>;

export const command = commandOf({
  usage: 'diff [VAULT|FILE] VAULT|FILE [flags]',
  summary: 'compare two vaults, or a vault and a .env file',
  options,
  completes: 'files',
  about:
    'Prints the names that are only in the first (-), only in the second (+), have different values (~), or are expired, disabled\nor not yet active in one of two vaults (!). Values are never printed. With one argument, the first is the vault in the\nsettings. An argument that is an existing path is a file. With --stage, prints the names that are not the same in all\nvaults of the stage, as stages show does.',
  upTo: 2,
  run: async (values, first, [second]) => {
    if (values.stage !== null) return diffStage(values, values.stage, first);
    if (first === '') throw new UsageError('a vault or a file to compare with is required');
    const settings = settingsFor(values, process.env);
    const [from, to] = second === undefined ? [null, first] : [first, second];
    const difference =
      isComparedThere(settings, from) && !isFile(from) && !isFile(to)
        ? await compareVaults(settings, from, to)
        : compare(await valuesOf(settings, from), await valuesOf(settings, to));
    if (values.json) printJson(difference);
    else process.stdout.write(shown(difference));
    const differs = Object.values(difference).some(names => names.length > 0);
    if (differs && values['exit-code']) process.exitCode = 1;
  },
});

type Given = Parameters<typeof settingsFor>[0] & { readonly json: boolean; readonly 'exit-code': boolean };

async function diffStage(values: Given, stage: string, first: string): Promise<void> {
  if (first !== '') throw new UsageError('--stage takes no further argument');
  const [{ adminIn }, { comparedStage, printStage }] = await Promise.all([
    import('../connection/admin.ts'),
    import('../connection/compared-stage.ts'),
  ]);
  const compared = await comparedStage(adminIn(values), stage, true);
  if (values.json) printJson(compared);
  else if (compared.rows.length > 0) printStage(compared);
  if (compared.rows.length > 0 && values['exit-code']) process.exitCode = 1;
}

/** With an API key, unless the first vault is that of an access key. */
function isComparedThere({ apiKey, accessKey, vault }: Settings, from: string | null): boolean {
  return apiKey !== null && (accessKey === null || (from ?? vault) !== null);
}

function isFile(given: string | null): boolean {
  return given !== null && (given.includes('/') || existsSync(given));
}

async function valuesOf(settings: Settings, given: string | null): Promise<Values> {
  if (given !== null && isFile(given))
    return new Map(Object.entries(parseEnv(contentOf(given)) as Record<string, string>));
  const { secrets } = await wholeVault(vaultOf(settings, given ?? settings.vault));
  return new Map(secrets.map(({ name, value }) => [name, value]));
}

type Difference = Readonly<Record<'removed' | 'added' | 'changed' | 'inactive', readonly string[]>>;

const atOnce = 100;

async function compareVaults(
  settings: Settings,
  from: string | null,
  to: string | null,
): Promise<Difference> {
  const { adminFor } = await import('../connection/admin.ts');
  const admin = adminFor(settings);
  const [one, other] = [await admin.vault(from ?? settings.vault), await admin.vault(to)];
  const rows: ComparedVaults['rows'][number][] = [];
  for (let page = 1; one.id !== other.id; page++) {
    const body = { vault_ids: [one.id, other.id], different: true, page, limit: atOnce };
    const compared = await admin.compareVaults({ body });
    rows.push(...compared.rows);
    if (page * atOnce >= compared.pagination.total) break;
  }
  return differenceOf(rows);
}

function differenceOf(rows: ComparedVaults['rows']): Difference {
  const found: Record<keyof Difference, string[]> = { removed: [], added: [], changed: [], inactive: [] };
  for (const { name, cells } of rows) {
    const [before, after] = [cells[0] ?? null, cells[1] ?? null];
    if ([before, after].some(cell => cell !== null && cell.state !== 'active')) found.inactive.push(name);
    else if (before === null) found.added.push(name);
    else if (after === null) found.removed.push(name);
    else if (before.value === null)
      throw new Refusal('comparing values requires the permission secrets:reveal');
    else found.changed.push(name);
  }
  return found;
}

function compare(from: Values, to: Values): Difference {
  const [before, after] = [[...from.keys()].sort(), [...to.keys()].sort()];
  return {
    removed: before.filter(name => !to.has(name)),
    added: after.filter(name => !from.has(name)),
    changed: before.filter(name => to.has(name) && to.get(name) !== from.get(name)),
    inactive: [],
  };
}

function shown({ removed, added, changed, inactive }: Difference): string {
  const paint = painter(process.env);
  const lines = [
    ...removed.map(name => [name, paint('red', `- ${printable(name)}`)] as const),
    ...added.map(name => [name, paint('green', `+ ${printable(name)}`)] as const),
    ...changed.map(name => [name, paint('yellow', `~ ${printable(name)}`)] as const),
    ...inactive.map(name => [name, paint('yellow', `! ${printable(name)}`)] as const),
  ];
  return lines
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, line]) => `${line}\n`)
    .join('');
}
