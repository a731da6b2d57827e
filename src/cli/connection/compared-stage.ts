/** The comparison of a stage's vaults, for the commands that print it: all pages, as a table without values. */
import type { ComparedStage } from '../../client/api.ts';
import { cellState } from '../../contract/stage-cells.ts';
import { counted } from '../../service/settings/report.ts';
import { note, printable, table } from '../terminal/terminal.ts';
import { type Admin, foundIn } from './admin.ts';

const atOnce = 100;

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
