/** The comparison table: a row per name, a column per stage, and buttons that copy from one stage to the next. */
import { ArrowLeft, ArrowRight } from 'lucide-react';
import { Link } from 'wouter';
import { post } from '../../api/client.ts';
import type { BulkAnswer, ComparedVaults, Vault } from '../../api/types.ts';
import { useRecord, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Name } from '../../ui/name.tsx';
import { note } from '../../ui/toast.tsx';

type Row = ComparedVaults['rows'][number];
type Cell = Row['cells'][number];

interface TableProps {
  readonly ids: readonly string[];
  readonly rows: readonly Row[];
  readonly onOrder: (ids: readonly string[]) => void;
}

export function ComparisonTable({ ids, rows, onOrder }: TableProps) {
  if (rows.length === 0) return <p className="px-5 py-6 text-muted">Nothing is missing or different.</p>;
  return (
    <div className="relative overflow-x-auto">
      <table className="w-full border-collapse text-left" aria-label="Comparison">
        <thead>
          <tr className="border-b bg-canvas">
            <th scope="col" className="sticky left-0 z-1 bg-canvas px-4 py-1 text-xs font-medium text-muted">
              Name
            </th>
            {ids.map((id, at) => (
              <th key={id} scope="col" className="px-3 py-1 text-xs font-medium text-muted">
                <Stage id={id} at={at} ids={ids} onOrder={onOrder} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={row.name} className="border-b last:border-0">
              <th
                scope="row"
                className="sticky left-0 z-1 h-(--row) max-w-40 bg-surface px-4 py-1 font-mono text-xs font-medium sm:max-w-none"
              >
                <Name text={row.name} />
              </th>
              {ids.map((id, at) => (
                <td key={id} className="px-3 py-1">
                  <CellOf row={row} at={at} ids={ids} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface StageProps {
  readonly id: string;
  readonly at: number;
  readonly ids: readonly string[];
  readonly onOrder: (ids: readonly string[]) => void;
}

function Stage({ id, at, ids, onOrder }: StageProps) {
  const name = useName(id);
  function move(by: 1 | -1) {
    const next = [...ids];
    [next[at], next[at + by]] = [next[at + by]!, next[at]!];
    onOrder(next);
  }
  return (
    <span className="flex items-center gap-1 whitespace-nowrap">
      {at > 0 && (
        <Button look="quiet" size="icon" aria-label={`Move ${name} to the left`} onClick={() => move(-1)}>
          <ArrowLeft className="size-3.5" aria-hidden />
        </Button>
      )}
      <Link href={`/vaults/${id}/secrets`} className="font-medium text-ink hover:underline">
        {name}
      </Link>
      {at < ids.length - 1 && (
        <Button look="quiet" size="icon" aria-label={`Move ${name} to the right`} onClick={() => move(1)}>
          <ArrowRight className="size-3.5" aria-hidden />
        </Button>
      )}
    </span>
  );
}

function useName(id: string): string {
  return useRecord<Vault>('vaults', id).data?.name ?? `${id.slice(0, 8)}…`;
}

interface CellProps {
  readonly row: Row;
  readonly at: number;
  readonly ids: readonly string[];
}

function CellOf({ row, at, ids }: CellProps) {
  const cell = row.cells[at]!;
  const before = previous(row.cells, at);
  const state = stateOf(cell, before?.cell ?? null);
  const canCopy = before !== null && (state === 'missing' || state === 'different');
  return (
    <span className="flex flex-wrap items-center gap-2">
      {state === 'missing' && <Badge tone="warn">missing</Badge>}
      {state === 'different' && <Badge tone="accent">different</Badge>}
      {(state === 'same' || state === 'present') && <span className="text-muted">{state}</span>}
      {cell !== null && (
        <Link
          href={`/vaults/${ids[at]}/secrets/${cell.id}`}
          className="text-xs text-muted tabular-nums hover:underline"
        >
          v{cell.version}
          <span className="sr-only"> of {row.name}</span>
        </Link>
      )}
      {canCopy && <Copy name={row.name} from={ids[before.at]!} cell={before.cell} to={ids[at]!} />}
    </span>
  );
}

/** The nearest stage to the left that has the secret. */
function previous(cells: readonly Cell[], at: number): { at: number; cell: NonNullable<Cell> } | null {
  for (let left = at - 1; left >= 0; left--) {
    const cell = cells[left] ?? null;
    if (cell !== null) return { at: left, cell };
  }
  return null;
}

function stateOf(cell: Cell, before: Cell): 'missing' | 'present' | 'same' | 'different' {
  if (cell === null) return 'missing';
  if (before === null || cell.value === null) return 'present';
  return cell.value === before.value ? 'same' : 'different';
}

interface CopyProps {
  readonly name: string;
  readonly from: string;
  readonly cell: NonNullable<Cell>;
  readonly to: string;
}

function Copy({ name, from, cell, to }: CopyProps) {
  const may = useMay();
  const refresh = useRefresh();
  const [source, target] = [useName(from), useName(to)];
  async function copy() {
    const body = { secret_ids: [cell.id], vault_id: to };
    const { results } = await post<BulkAnswer>('/v1/secrets/copy', body);
    const failure = results[0]?.error;
    if (failure) note(failure.details.reason || failure.message, { bad: true });
    else note(`${name} copied to ${target}`);
    await refresh('secrets', 'versions', 'vaults');
  }
  if (!may('secrets:write') || !may('secrets:reveal')) return null;
  return (
    <ConfirmButton
      look="quiet"
      size="small"
      label="Copy"
      name={`Copy ${name} from ${source} to ${target}`}
      title={`Copy ${name} to ${target}?`}
      text={`The value from ${source} is stored in ${target}, as a new version if the name exists. The value is not shown, and the copy is recorded in the audit log.`}
      action="Copy"
      onConfirm={copy}
    />
  );
}
