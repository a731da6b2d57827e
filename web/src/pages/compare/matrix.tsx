/** The comparison as a table: a row for each name, a column for each vault. Secrets are copied in any direction. */
import { ArrowLeft, ArrowRight, Pencil } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { type CellState, cellState, sourcesOf } from '../../../../src/contract/stage-cells.ts';
import { useMay } from '../../session/session.tsx';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Name } from '../../ui/name.tsx';
import { type Selection, useSelection } from '../../ui/selection.ts';
import { Ago } from '../../ui/time.tsx';
import type { Column, Compared, Row } from './compared.ts';
import { CopyDialog, type Copying } from './copy-dialog.tsx';
import { RenameDialog } from './rename-dialog.tsx';

type Named = Row & { readonly id: string };

interface MatrixProps {
  readonly compared: Compared;
  /** Undefined for vaults that are no stage. */
  readonly stageId: string | undefined;
  /** Null if the person may not change the order. */
  readonly onOrder: ((ids: readonly string[]) => void) | null;
  readonly pager: ReactNode;
}

export function Matrix({ compared: { vaults, rows }, stageId, onOrder, pager }: MatrixProps) {
  const may = useMay();
  const selection = useSelection<Named>();
  const [copying, setCopying] = useState<Copying | null>(null);
  const [renaming, setRenaming] = useState<Row | null>(null);
  const named = rows.map((row): Named => ({ ...row, id: row.name }));
  const mayWrite = (at: number) => may('secrets:write', vaults[at]!.id);
  const mayCopy = (from: number, to: number) => may('secrets:reveal', vaults[from]!.id) && mayWrite(to);
  const copiesAny = vaults.some((_, from) => vaults.some((__, to) => from !== to && mayCopy(from, to)));
  const renames = stageId !== undefined && vaults.every((_, at) => mayWrite(at));
  const done = () => {
    setCopying(null);
    selection.clear();
  };
  return (
    <>
      <SelectionBar
        selection={selection}
        onCopy={chosen => setCopying({ rows: chosen, from: 0, to: vaults.length - 1 })}
      />
      <div className="surface overflow-hidden">
        {rows.length === 0 ? (
          <p className="px-5 py-6 text-muted">Nothing to show: no secret is missing, expired or different.</p>
        ) : (
          <div className="relative overflow-x-auto">
            <table className="w-full border-collapse text-left" aria-label="Comparison">
              <thead>
                <tr className="border-b bg-canvas">
                  <th
                    scope="col"
                    className="sticky left-0 z-1 bg-canvas px-4 py-1 text-xs font-medium text-muted"
                  >
                    <span className="flex items-center gap-3">
                      {copiesAny && (
                        <Check label="Select all on this page" rows={named} selection={selection} />
                      )}
                      Name
                    </span>
                  </th>
                  {vaults.map((vault, at) => (
                    <th key={vault.id} scope="col" className="px-3 py-1 text-xs font-medium text-muted">
                      <Heading vault={vault} at={at} all={vaults} onOrder={onOrder} />
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {named.map(row => (
                  <tr key={row.name} className="border-b last:border-0">
                    <th
                      scope="row"
                      className="sticky left-0 z-1 h-(--row) w-40 max-w-40 bg-surface px-4 py-1 font-mono text-xs font-medium sm:w-auto sm:max-w-80"
                    >
                      <span className="flex items-center gap-3">
                        {copiesAny && (
                          <Check label={`Select ${row.name}`} rows={[row]} selection={selection} />
                        )}
                        <span className="min-w-0">
                          <Name text={row.name} />
                        </span>
                        {renames && (
                          <Button
                            look="quiet"
                            size="icon"
                            className="ml-auto max-sm:hidden"
                            aria-label={`Rename ${row.name} in all vaults`}
                            onClick={() => setRenaming(row)}
                          >
                            <Pencil className="size-3.5" aria-hidden />
                          </Button>
                        )}
                      </span>
                    </th>
                    {vaults.map((vault, at) => (
                      <td key={vault.id} className="px-3 py-1 align-middle whitespace-nowrap">
                        <Cell
                          row={row}
                          at={at}
                          vaults={vaults}
                          sources={sourcesOf(row.cells, at).filter(from => mayCopy(from, at))}
                          onCopy={from => setCopying({ rows: [row], from, to: at, isFixed: true })}
                        />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {pager}
      </div>
      {copying && (
        <CopyDialog copying={copying} vaults={vaults} onDone={done} onClose={() => setCopying(null)} />
      )}
      {renaming && stageId !== undefined && (
        <RenameDialog row={renaming} stageId={stageId} onClose={() => setRenaming(null)} />
      )}
    </>
  );
}

interface CheckProps {
  readonly label: string;
  readonly rows: readonly Named[];
  readonly selection: Selection<Named>;
}

function Check({ label, rows, selection: { chosen, toggle } }: CheckProps) {
  return (
    <label className="-m-2 grid size-8 shrink-0 cursor-pointer place-items-center max-sm:size-10">
      <input
        type="checkbox"
        aria-label={label}
        checked={rows.length > 0 && rows.every(({ id }) => chosen.has(id))}
        onChange={() => toggle(rows)}
      />
    </label>
  );
}

interface BarProps {
  readonly selection: Selection<Named>;
  readonly onCopy: (rows: readonly Row[]) => void;
}

function SelectionBar({ selection, onCopy }: BarProps) {
  const rows = [...selection.chosen.values()];
  if (rows.length === 0) return null;
  return (
    <section
      aria-label="Selected secrets"
      className="surface sticky top-2 z-10 flex flex-wrap items-center gap-2 px-4 py-2.5"
    >
      <span className="mr-2 font-medium tabular-nums" role="status">
        {rows.length} selected
      </span>
      <Button size="small" onClick={() => onCopy(rows)}>
        Copy…
      </Button>
      <span className="ml-auto">
        <Button look="quiet" size="small" onClick={selection.clear}>
          Clear
        </Button>
      </span>
    </section>
  );
}

interface HeadingProps {
  readonly vault: Column;
  readonly at: number;
  readonly all: readonly Column[];
  readonly onOrder: ((ids: readonly string[]) => void) | null;
}

function Heading({ vault: { id, name }, at, all, onOrder }: HeadingProps) {
  function move(by: 1 | -1) {
    const next = all.map(one => one.id);
    [next[at], next[at + by]] = [next[at + by]!, next[at]!];
    onOrder?.(next);
  }
  return (
    <span className="flex items-center gap-1 whitespace-nowrap">
      {onOrder && at > 0 && (
        <Button look="quiet" size="icon" aria-label={`Move ${name} to the left`} onClick={() => move(-1)}>
          <ArrowLeft className="size-3.5" aria-hidden />
        </Button>
      )}
      <Link href={`/vaults/${id}/secrets`} className="font-medium text-ink hover:underline">
        {name}
      </Link>
      {onOrder && at < all.length - 1 && (
        <Button look="quiet" size="icon" aria-label={`Move ${name} to the right`} onClick={() => move(1)}>
          <ArrowRight className="size-3.5" aria-hidden />
        </Button>
      )}
    </span>
  );
}

const tones: Partial<Record<CellState, Tone>> = {
  missing: 'bad',
  expired: 'bad',
  disabled: 'warn',
  inactive: 'warn',
  different: 'warn',
};
const words: Partial<Record<CellState, string>> = { inactive: 'not yet active' };

interface CellProps {
  readonly row: Row;
  readonly at: number;
  readonly vaults: readonly Column[];
  /** The columns that it can be copied from. */
  readonly sources: readonly number[];
  readonly onCopy: (from: number) => void;
}

function Cell({ row, at, vaults, sources, onCopy }: CellProps) {
  const cell = row.cells[at] ?? null;
  const state = cellState(row.cells, at);
  const tone = tones[state];
  const [from] = sources;
  return (
    <span className="flex items-center justify-between gap-3">
      <span className="flex flex-col">
        {tone === undefined ? (
          <span className="text-xs text-muted">{state}</span>
        ) : (
          <Badge tone={tone}>{words[state] ?? state}</Badge>
        )}
        {cell !== null && (
          <Link
            href={`/vaults/${vaults[at]!.id}/secrets/${cell.id}`}
            className="text-xs text-muted tabular-nums hover:underline"
          >
            v{cell.version}
            <span className="sr-only"> of {row.name}</span> · <Ago at={cell.updated_at} />
          </Link>
        )}
      </span>
      {from !== undefined && (
        <Button
          look="quiet"
          size="small"
          aria-label={`Copy ${row.name} from ${vaults[from]!.name} to ${vaults[at]!.name}`}
          onClick={() => onCopy(from)}
        >
          Copy
        </Button>
      )}
    </span>
  );
}
