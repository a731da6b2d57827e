/** `strongroom stages …`: vaults in an order, and what is missing, expired or different from one to the next. */
import type { ComparedStage, Stage } from '../../client/api.ts';
import { cellState } from '../../contract/stage-cells.ts';
import { flag } from '../../service/settings/options.ts';
import { counted, UsageError } from '../../service/settings/report.ts';
import { type Admin, adminIn, foundIn, listed } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, note, printable, printCreated, printJson, table } from '../terminal/terminal.ts';

const { vault: _, ...options } = serviceOptions;
const atOnce = 100;

export const listCommand = commandOf({
  usage: 'stages list [flags]',
  summary: 'print the stages and their vaults',
  options,
  about: 'Prints each stage with its vaults in order, as far as the API key has access to them.',
  run: async values => {
    const admin = adminIn(values);
    const all = await listed(admin.listStages);
    if (values.json) return printJson(all);
    const vaults = new Map((await listed(admin.listVaults)).map(({ id, name }) => [id, name]));
    const inOrder = ({ vault_ids }: Stage) => vault_ids.map(id => vaults.get(id) ?? id).join(', ');
    process.stdout.write(table(all.map(stage => [stage.name, inOrder(stage)])));
  },
});

const showOptions = { ...options, different: flag('leave out what is the same in all vaults') };

export const showCommand = commandOf({
  usage: 'stages show NAME [flags]',
  summary: 'compare the vaults of a stage',
  options: showOptions,
  about:
    'Prints a row for each name and a column for each vault: missing, expired, disabled, inactive, same, different, or present if\nthere is nothing to compare with. Each is followed by the time since the last change. Values are never printed.',
  missing: 'the name of a stage is required',
  run: async (values, named) => {
    const compared = await comparedStage(adminIn(values), named, values.different);
    if (values.json) printJson(compared);
    else printStage(compared);
  },
});

export const createCommand = commandOf({
  usage: 'stages create NAME VAULT VAULT... [flags]',
  summary: 'create a stage',
  options,
  about:
    'Creates a stage from vaults in order, by their names or ids, and prints its id. The last one is what the others lead to,\nsuch as production.',
  missing: 'a name for the stage is required',
  upTo: 9, // A stage has at most eight vaults.
  run: async (values, name, named) => {
    if (named.length < 2) throw new UsageError('two or more vaults are required');
    const admin = adminIn(values);
    const vault_ids: string[] = [];
    for (const one of named) vault_ids.push((await admin.vault(one)).id);
    const created = await admin.createStage({ body: { name, vault_ids } });
    await printCreated(values, created, created.id, `the stage ${printable(name)} is created`);
  },
});

export const deleteCommand = commandOf({
  usage: 'stages delete NAME [flags]',
  summary: 'delete a stage',
  options,
  about: 'Deletes a stage. Its vaults and their secrets stay as they are.',
  missing: 'the name of a stage is required',
  run: async (values, named) => {
    const admin = adminIn(values);
    const { id, name } = await foundIn(admin.listStages, 'stage', named);
    done(values.json, await admin.deleteStage({ id }), `the stage ${printable(name)} is deleted`);
  },
});

export const renameCommand = commandOf({
  usage: 'stages rename NAME OLD NEW [flags]',
  summary: 'rename a secret in all vaults of a stage',
  options,
  about:
    'Renames a secret in all vaults of a stage that have it or, if one of them can’t be renamed, in none.',
  missing: 'the name of a stage is required',
  upTo: 3,
  run: async (values, named, [old, next]) => {
    if (old === undefined || next === undefined)
      throw new UsageError('the old and the new name of the secret are required');
    const admin = adminIn(values);
    const { id, vault_ids } = await foundIn(admin.listStages, 'stage', named);
    const found = await Promise.all(vault_ids.map(vaultId => admin.search(vaultId, old)));
    const secret = found.find(one => one !== null) ?? null;
    if (secret === null) throw new UsageError('no vault of the stage has a secret with this name');
    const renamed = await admin.renameInStage({ id, body: { secret_id: secret.id, name: next } });
    done(values.json, renamed, `renamed in ${counted(renamed.data.length, 'vault')}`);
  },
});

/** All pages of a comparison. */
export async function comparedStage(
  admin: Admin,
  named: string,
  different: boolean,
): Promise<Omit<ComparedStage, 'pagination'>> {
  const { id } = await foundIn(admin.listStages, 'stage', named);
  const rows: ComparedStage['rows'][number][] = [];
  for (let page = 1; ; page++) {
    const compared = await admin.compareStage({ id, body: { page, limit: atOnce, different } });
    rows.push(...compared.rows);
    if (page * atOnce >= compared.pagination.total)
      return { vaults: compared.vaults, rows, missing: compared.missing };
  }
}

export function printStage({ vaults, rows, missing }: Omit<ComparedStage, 'pagination'>): void {
  const heads = ['NAME', ...vaults.map(({ name }) => name)];
  const lines = rows.map(({ name, cells }) => [
    name,
    ...cells.map((cell, at) =>
      cell === null ? 'missing' : `${cellState(cells, at)} ${ageOf(cell.updated_at)}`,
    ),
  ]);
  process.stdout.write(table([heads, ...lines]));
  const last = vaults.at(-1);
  if (missing > 0 && last !== undefined)
    note(`${counted(missing, 'secret')} missing in ${printable(last.name)}`);
}

const units = [
  ['y', 31_536_000],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

function ageOf(moment: string): string {
  const seconds = Math.max(0, (Date.now() - Date.parse(moment)) / 1000);
  const [unit, length] = units.find(([, long]) => seconds >= long) ?? ['s', 1];
  return `${Math.floor(seconds / length)}${unit}`;
}
