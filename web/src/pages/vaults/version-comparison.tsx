/** A line-by-line comparison of two values. */
import { Button } from '../../ui/button.tsx';
import { Scrollable } from '../../ui/scrollable.tsx';
import { type Difference, differences } from './differences.ts';

export interface Compared {
  readonly from: number;
  readonly to: number;
  readonly before: string;
  readonly after: string;
}

const looks = {
  same: { row: '', mark: ' ', word: '' },
  gone: { row: 'bg-bad-soft text-bad', mark: '−', word: 'removed: ' },
  come: { row: 'bg-good-soft text-good', mark: '+', word: 'added: ' },
} as const;

interface VersionComparisonProps {
  readonly compared: Compared;
  readonly secondsLeft: number;
  readonly onClose: () => void;
}

export function VersionComparison({
  compared: { from, to, before, after },
  secondsLeft,
  onClose,
}: VersionComparisonProps) {
  const lines = differences(before, after);
  const isSame = before === after;
  return (
    <div className="rounded-lg border" data-comparison>
      <div className="flex flex-wrap items-center justify-between gap-2 border-b px-4 py-2">
        <span>
          Version {from} → {to} {isSame && <span className="text-muted">– the values are the same</span>}
        </span>
        <span className="flex items-center gap-3 text-xs text-muted tabular-nums">
          Hides in {secondsLeft} s
          <Button size="small" onClick={onClose}>
            Hide
          </Button>
        </span>
      </div>
      <Scrollable label="Comparison" className="max-h-80 overflow-auto py-2 font-mono text-xs">
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines are identified by position
          <DifferenceLine key={index} line={line} />
        ))}
      </Scrollable>
    </div>
  );
}

function DifferenceLine({ line: { kind, text } }: { line: Difference }) {
  const { row, mark, word } = looks[kind];
  return (
    <div className={`flex px-4 ${row}`}>
      <span aria-hidden className="w-5 shrink-0 select-none">
        {mark}
      </span>
      <span className="sr-only">{word}</span>
      <span className="break-all whitespace-pre-wrap">{text === '' ? ' ' : text}</span>
    </div>
  );
}
