/** Reads over time as stacked bars, with the same numbers in a table for screen readers. */
import { useSyncExternalStore } from 'react';
import { Link } from 'wouter';
import type { Overview } from '../../api/types.ts';

type Reads = Overview['reads'];

const height = 260;
/** The chart's width in SVG units, so that text stays readable: on a phone, and in a one-column layout. */
const widths = [
  [window.matchMedia('(max-width: 639px)'), 330],
  [window.matchMedia('(max-width: 1279px)'), 960],
] as const;
const widthBesideAnother = 620;
const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const figures = new Intl.NumberFormat('en');

export function ReadsChart({ reads }: { reads: Reads }) {
  const total = sum(reads, 'success');
  const failed = sum(reads, 'failure');
  if (total + failed === 0) {
    return (
      <p className="py-8 text-center text-muted">
        No reads in the last 24 hours. Create an access key under Access; its first read will appear here.
      </p>
    );
  }
  return (
    <figure>
      <figcaption className="mb-3 flex flex-wrap gap-x-5 gap-y-1 text-xs">
        <Legend colour="bg-chart-good" text={`${figures.format(total)} succeeded`} />
        <Legend colour="bg-chart-bad" text={`${figures.format(failed)} refused`} />
      </figcaption>
      <Bars reads={reads} />
      <ChartTable reads={reads} />
    </figure>
  );
}

function useWidth(): number {
  return useSyncExternalStore(
    changed => {
      for (const [screen] of widths) screen.addEventListener('change', changed);
      return () => {
        for (const [screen] of widths) screen.removeEventListener('change', changed);
      };
    },
    () => widths.find(([screen]) => screen.matches)?.[1] ?? widthBesideAnother,
  );
}

function Bars({ reads }: { reads: Reads }) {
  const width = useWidth();
  const most = niceCeiling(Math.max(...reads.map(({ success, failure }) => success + failure)));
  const step = width / reads.length;
  const scale = (value: number) => (value / most) * height;
  const every = Math.ceil(reads.length / (width / 110));
  return (
    <svg viewBox={`-34 -8 ${width + 34} ${height + 30}`} className="w-full" aria-hidden>
      {[0, 0.5, 1].map(part => (
        <g key={part}>
          <line x1={0} x2={width} y1={height * (1 - part)} y2={height * (1 - part)} className="stroke-line" />
          <text
            x={-8}
            y={height * (1 - part) + 4}
            textAnchor="end"
            className="fill-muted text-2xs tabular-nums"
          >
            {figures.format(most * part)}
          </text>
        </g>
      ))}
      {reads.map(({ at, success, failure }, index) => (
        <g key={at} transform={`translate(${index * step + step * 0.14} 0)`}>
          <rect
            width={step * 0.72}
            y={height - scale(success)}
            height={scale(success)}
            rx={2}
            className="fill-chart-good"
          />
          <rect
            width={step * 0.72}
            y={height - scale(success + failure) - (failure > 0 && success > 0 ? 1.5 : 0)}
            height={scale(failure)}
            rx={2}
            className="fill-chart-bad"
          />
          <title>{`${hour.format(new Date(at))}: ${success} succeeded, ${failure} refused`}</title>
          {index % every === 0 && (
            <text
              x={step * 0.36}
              y={height + 18}
              textAnchor="middle"
              className="fill-muted text-2xs tabular-nums"
            >
              {hour.format(new Date(at))}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

function ChartTable({ reads }: { reads: Reads }) {
  return (
    <table className="sr-only">
      <caption>Reads per hour</caption>
      <thead>
        <tr>
          <th scope="col">Hour</th>
          <th scope="col">Succeeded</th>
          <th scope="col">Refused</th>
        </tr>
      </thead>
      <tbody>
        {reads.map(({ at, success, failure }) => (
          <tr key={at}>
            <th scope="row">{hour.format(new Date(at))}</th>
            <td>{success}</td>
            <td>{failure}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Legend({ colour, text }: { colour: string; text: string }) {
  return (
    <Link href="/logs/requests" className="flex items-center gap-2 text-muted hover:text-ink hover:underline">
      <span aria-hidden className={`size-2 rounded-sm ${colour}`} />
      <span className="tabular-nums">{text}</span>
    </Link>
  );
}

function sum(reads: Reads, name: 'success' | 'failure'): number {
  return reads.reduce((total, one) => total + one[name], 0);
}

/** Rounds up to 1, 2, 4, 6 or 8 times a power of ten; at least 2 and always even, so that half of it is an integer. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  const found = [1, 2, 4, 6, 8, 10].find(factor => factor * power >= value) ?? 10;
  return Math.max(2, found * power);
}
