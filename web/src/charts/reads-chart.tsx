/** Reads over the last day, week, month or quarter. Each bar and each total leads to its entries in the request log. */
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { query } from '../api/client.ts';
import type { RequestHistogram } from '../api/types.ts';
import { useOptional } from '../api/use.ts';
import { Button } from '../ui/button.tsx';
import { Wrong } from '../ui/page.tsx';
import { RequestsChart, summed } from './requests-chart.tsx';

const hour = 3_600_000;
const day = 24 * hour;
const height = 220;
const figures = new Intl.NumberFormat('en');

/** How many parts of which length, and how often to count again. */
const ranges = [
  { name: '24 h', words: 'the last 24 hours', length: hour, buckets: 24, every: 15_000 },
  { name: '7 d', words: 'the last 7 days', length: 6 * hour, buckets: 28, every: 60_000 },
  { name: '30 d', words: 'the last 30 days', length: day, buckets: 30, every: 60_000 },
  { name: '90 d', words: 'the last 90 days', length: day, buckets: 90, every: 60_000 },
] as const;

type Range = (typeof ranges)[number];

/** Ends with the current hour or, in the person's own time zone, the current day. */
function periodOf({ length, buckets }: Range) {
  const now = new Date();
  if (length < day) now.setMinutes(60, 0, 0);
  else now.setHours(24, 0, 0, 0);
  return { from: new Date(now.getTime() - length * buckets).toISOString(), to: now.toISOString(), buckets };
}

export function ReadsChart({ vaultId }: { vaultId?: string }) {
  const [range, setRange] = useState<Range>(ranges[0]);
  const [, go] = useLocation();
  const filter = { vault_id: vaultId };
  const path = `/v1/request-logs/histogram${query({ ...filter, ...periodOf(range) })}`;
  const { data, error, refetch } = useOptional<RequestHistogram>(path, true, range.every);
  const log = (more: Record<string, string>) => `/logs/requests${query({ ...filter, ...more })}`;
  return (
    <figure>
      <figcaption className="mb-6 flex flex-wrap items-center justify-between gap-x-5 gap-y-2 text-xs">
        {data ? <Legend data={data} log={log} /> : <span />}
        <span className="flex gap-1">
          {ranges.map(one => (
            <Button
              key={one.name}
              size="small"
              look={one === range ? 'plain' : 'quiet'}
              aria-pressed={one === range}
              title={`Show ${one.words}`}
              onClick={() => setRange(one)}
            >
              {one.name}
            </Button>
          ))}
        </span>
      </figcaption>
      {error && !data && <Wrong error={error} retry={() => void refetch()} />}
      {data === undefined && !error && (
        <div className="animate-pulse rounded bg-sunken" style={{ height: height + 20 }} />
      )}
      {data && (
        <RequestsChart
          parts={data.parts}
          to={data.to}
          height={height}
          label={`Reads in ${range.words}`}
          onPick={(from, to) => go(log({ from, to }))}
        />
      )}
    </figure>
  );
}

function Legend({ data, log }: { data: RequestHistogram; log: (more: Record<string, string>) => string }) {
  const { success, failure } = summed(data.parts, { first: 0, last: data.parts.length - 1 });
  const { from, to } = data;
  return (
    <span className="flex flex-wrap gap-x-5 gap-y-1">
      <Entry
        colour="bg-chart-good"
        href={log({ from, to, success: 'true' })}
        text={`${figures.format(success)} succeeded`}
      />
      <Entry
        colour="bg-chart-bad"
        href={log({ from, to, success: 'false' })}
        text={`${figures.format(failure)} refused`}
      />
    </span>
  );
}

function Entry({ colour, text, href }: { colour: string; text: string; href: string }) {
  return (
    <Link href={href} className="flex items-center gap-2 text-muted hover:text-ink hover:underline">
      <span aria-hidden className={`size-2 rounded-sm ${colour}`} />
      <span className="tabular-nums">{text}</span>
    </Link>
  );
}
