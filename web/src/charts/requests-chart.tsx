/**
 * Requests over time as stacked bars. Hovering or the arrow keys show the numbers of a bar; a click or Enter opens it;
 * dragging, or the arrows with Shift, choose several. A table has the same numbers for screen readers.
 */
import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react';
import type { RequestHistogram } from '../api/types.ts';

export type Parts = RequestHistogram['parts'];

interface RequestsChartProps {
  readonly parts: Parts;
  /** The end of the last part. */
  readonly to: string;
  /** In pixels. */
  readonly height: number;
  readonly label: string;
  /** Called with the beginning and the end of the chosen bars. */
  readonly onPick: (from: string, to: string) => void;
}

interface Chosen {
  readonly first: number;
  readonly last: number;
}

const figures = new Intl.NumberFormat('en');
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayAndClock = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const dayOnly = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const day = 86_400_000;

export function RequestsChart({ parts, to, height, label, onPick }: RequestsChartProps) {
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const began = useRef<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const last = parts.length - 1;
  const endOf = (index: number) => parts[index + 1]?.at ?? to;
  const pick = ({ first, last: until }: Chosen) => onPick(parts[first]!.at, endOf(until));

  function indexAt({ clientX }: PointerEvent): number {
    const { left, width } = box.current!.getBoundingClientRect();
    return Math.max(0, Math.min(last, Math.floor(((clientX - left) / width) * parts.length)));
  }
  function onMove(event: PointerEvent) {
    const at = indexAt(event);
    const from = began.current ?? at;
    setChosen({ first: Math.min(from, at), last: Math.max(from, at) });
  }
  function onUp() {
    if (began.current !== null && chosen !== null) pick(chosen);
    began.current = null;
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === 'Enter' && chosen !== null) return pick(chosen);
    const next = moved(event, chosen, last);
    if (next === undefined) return;
    event.preventDefault();
    setChosen(next);
  }

  const shown = chosen === null ? null : summed(parts, chosen);
  const text =
    shown === null ? label : `${periodOf(shown.at, endOf(chosen!.last), parts)}: ${wordsOf(shown)}`;
  return (
    <div>
      <div className="relative pl-9">
        <Scale highest={highestOf(parts)} />
        <div
          ref={box}
          role="slider"
          tabIndex={0}
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={last}
          aria-valuenow={chosen?.last ?? last}
          aria-valuetext={text}
          className="relative flex cursor-pointer touch-pan-y items-stretch select-none"
          style={{ height }}
          onPointerDown={event => {
            began.current = indexAt(event);
            onMove(event);
          }}
          onPointerMove={onMove}
          onPointerUp={onUp}
          onPointerLeave={() => {
            began.current = null;
            setChosen(null);
          }}
          onBlur={() => setChosen(null)}
          onKeyDown={onKeyDown}
        >
          {parts.map((part, index) => (
            <Bar
              key={part.at}
              part={part}
              highest={highestOf(parts)}
              isChosen={chosen !== null && index >= chosen.first && index <= chosen.last}
              isRunning={index === last && Date.parse(to) > Date.now()}
            />
          ))}
        </div>
        {chosen !== null && <Card text={text} place={(chosen.first + chosen.last + 1) / 2 / parts.length} />}
      </div>
      <Axis parts={parts} />
      <PartsTable parts={parts} label={label} />
    </div>
  );
}

function moved(
  { key, shiftKey }: KeyboardEvent,
  chosen: Chosen | null,
  last: number,
): Chosen | null | undefined {
  if (key === 'Home') return { first: 0, last: 0 };
  if (key === 'End') return { first: last, last };
  const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[key];
  if (step === undefined) return undefined;
  if (chosen === null) return { first: last, last };
  if (shiftKey) {
    return step > 0
      ? { ...chosen, last: Math.min(last, chosen.last + 1) }
      : { ...chosen, first: Math.max(0, chosen.first - 1) };
  }
  const at = Math.max(0, Math.min(last, (step > 0 ? chosen.last : chosen.first) + step));
  return { first: at, last: at };
}

interface BarProps {
  readonly part: Parts[number];
  readonly highest: number;
  readonly isChosen: boolean;
  /** Its time is not over, so it will grow. */
  readonly isRunning: boolean;
}

function Bar({ part: { success, failure }, highest, isChosen, isRunning }: BarProps) {
  const share = (value: number) => `${(value / highest) * 100}%`;
  return (
    <span
      aria-hidden
      className={`flex min-w-0 flex-1 justify-center ${isChosen ? 'bg-hover' : ''} ${isRunning ? 'opacity-50' : ''}`}
    >
      <span className="flex w-3/4 flex-col justify-end">
        {failure > 0 && (
          <span className="min-h-0.5 rounded-xs bg-chart-bad" style={{ height: share(failure) }} />
        )}
        {success > 0 && (
          <span className="mt-px min-h-0.5 rounded-xs bg-chart-good" style={{ height: share(success) }} />
        )}
      </span>
    </span>
  );
}

function Scale({ highest }: { highest: number }) {
  return (
    <div aria-hidden className="pointer-events-none absolute inset-0">
      {[1, 0.5, 0].map(part => (
        <div
          key={part}
          className="absolute right-0 left-9 border-t border-line"
          style={{ top: `${(1 - part) * 100}%` }}
        >
          <span className="absolute right-full mr-1.5 -translate-y-1/2 text-2xs text-muted tabular-nums">
            {figures.format(highest * part)}
          </span>
        </div>
      ))}
    </div>
  );
}

function Card({ text, place }: { text: string; place: number }) {
  return (
    <div
      aria-hidden
      className="popup pointer-events-none absolute bottom-full z-10 mb-1 px-2.5 py-1.5 text-xs whitespace-nowrap tabular-nums"
      style={place > 0.5 ? { right: `${(1 - place) * 100}%` } : { left: `${place * 100}%` }}
    >
      {text}
    </div>
  );
}

/** Four labels at most, so that they fit on a phone. */
function Axis({ parts }: { parts: Parts }) {
  const every = Math.ceil(parts.length / 4);
  const isShort = spanOf(parts) <= 1.5 * day;
  return (
    <div aria-hidden className="flex pt-1 pl-9 text-2xs text-muted tabular-nums">
      {parts
        .filter((_, index) => index % every === 0)
        .map(({ at }, index, all) => (
          <span
            key={at}
            className="whitespace-nowrap"
            style={{ flex: index === all.length - 1 ? restOf(parts, every) : every }}
          >
            {(isShort ? clock : dayOnly).format(new Date(at))}
          </span>
        ))}
    </div>
  );
}

function restOf(parts: Parts, every: number): number {
  return parts.length % every === 0 ? every : parts.length % every;
}

function PartsTable({ parts, label }: { parts: Parts; label: string }) {
  return (
    <table className="sr-only">
      <caption>{label}</caption>
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">Succeeded</th>
          <th scope="col">Refused</th>
        </tr>
      </thead>
      <tbody>
        {parts.map(({ at, success, failure }) => (
          <tr key={at}>
            <th scope="row">{dayAndClock.format(new Date(at))}</th>
            <td>{success}</td>
            <td>{failure}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function summed(parts: Parts, { first, last }: Chosen): Parts[number] {
  const some = parts.slice(first, last + 1);
  const sum = (name: 'success' | 'failure') => some.reduce((total, part) => total + part[name], 0);
  return { at: parts[first]!.at, success: sum('success'), failure: sum('failure') };
}

function wordsOf({ success, failure }: Parts[number]): string {
  return `${figures.format(success)} succeeded, ${figures.format(failure)} refused`;
}

function periodOf(from: string, to: string, parts: Parts): string {
  const isDays = spanOf(parts) / Math.max(1, parts.length - 1) >= day;
  if (isDays) return dayOnly.format(new Date(from));
  return `${dayAndClock.format(new Date(from))} – ${clock.format(new Date(to))}`;
}

function spanOf(parts: Parts): number {
  return Date.parse(parts.at(-1)!.at) - Date.parse(parts[0]!.at);
}

function highestOf(parts: Parts): number {
  return niceCeiling(Math.max(...parts.map(({ success, failure }) => success + failure)));
}

/** Rounds up to 1, 2, 4, 6 or 8 times a power of ten; at least 2 and always even, so that half of it is an integer. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  const found = [1, 2, 4, 6, 8, 10].find(factor => factor * power >= value) ?? 10;
  return Math.max(2, found * power);
}
