/** Resources that expire soon, as a 90-day timeline with a dot for each, and as a list. */
import { CalendarCheck } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Overview } from '../../api/types.ts';
import { VaultText } from '../../shared/vault-name.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { hrefOf as hrefOfResource } from '../../ui/href.ts';
import { Name } from '../../ui/name.tsx';
import { dayOf, daysUntil } from '../../ui/time.tsx';

type Items = Overview['expiring'];

/** Credentials are listed on pages of their own. */
function hrefOf(item: Items[number]): string {
  if (item.type === 'access-key') return '/access/keys';
  return item.type === 'api-key' ? '/settings/api-keys' : hrefOfResource(item);
}

const span = 90;
/** How far the line shows what has expired. */
const past = 14;
/** Of a dot, in percent of the line. */
const width = 3;
const most = 5;
const marks = [0, 7, 30, 60, 90] as const;

export function ExpiryTimeline({ items }: { items: Items }) {
  const [all, setAll] = useState(false);
  if (items.length === 0) {
    return (
      <p className="flex items-center gap-2 text-muted">
        <CalendarCheck className="size-4" aria-hidden /> Nothing expires in the next 90 days.
      </p>
    );
  }
  const sorted = [...items].sort((one, other) => one.expires_at.localeCompare(other.expires_at));
  const shown = all ? sorted : sorted.slice(0, most);
  return (
    <>
      <Line items={sorted} />
      <ul className="-mx-2 mt-2 flex flex-col">
        {shown.map(item => (
          <li key={item.id}>
            <Link href={hrefOf(item)} className="row-link flex min-w-0 items-start gap-3 px-2 py-1">
              <Due at={item.expires_at} />
              <span className="min-w-0 flex-1">
                <span className="block font-mono text-xs leading-5 font-medium">
                  <Name text={item.name} />
                </span>
                <span className="block text-xs text-muted">
                  {typeName(item.type)}
                  {item.vault_id !== null && (
                    <>
                      {' '}
                      in <VaultText id={item.vault_id} />
                    </>
                  )}
                </span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {sorted.length > shown.length && (
        <Button look="quiet" size="small" className="mt-1" onClick={() => setAll(true)}>
          Show {sorted.length - shown.length} more
        </Button>
      )}
    </>
  );
}

/** Where on the line a moment is: what has expired is left of now, as far as a month back. */
function placeOf(at: string): number {
  const days = Math.max(-past, Math.min(span, daysUntil(at)));
  return ((days + past) / (span + past)) * 100;
}

/** Dots of the same place are stacked, so that each can be seen. */
function stacked(items: Items): readonly (readonly [Items[number], height: number])[] {
  const heights = new Map<number, number>();
  return items.map(item => {
    const place = Math.round(placeOf(item.expires_at) / width);
    const height = heights.get(place) ?? 0;
    heights.set(place, height + 1);
    return [item, height] as const;
  });
}

/** The list below has the links. */
function Line({ items }: { items: Items }) {
  const dots = stacked(items);
  const highest = Math.min(most, Math.max(...dots.map(([, height]) => height)));
  return (
    <div aria-hidden className="relative mx-2 mt-3 h-10" style={{ marginTop: 12 + highest * 12 }}>
      <div
        className="absolute top-2 left-0 h-px bg-bad/60"
        style={{ width: `${(past / (span + past)) * 100}%` }}
      />
      <div className="absolute inset-x-0 top-2 h-px bg-line-strong/50" />
      {marks.map(days => (
        <div
          key={days}
          className="absolute top-0 flex -translate-x-1/2 flex-col items-center"
          style={{ left: `${((days + past) / (span + past)) * 100}%` }}
        >
          <span className="h-4 w-px bg-line-strong/50" />
          <span className={`mt-1 text-2xs whitespace-nowrap text-muted ${days === 7 ? 'max-sm:hidden' : ''}`}>
            {days === 0 ? 'now' : `${days} d`}
          </span>
        </div>
      ))}
      {dots.map(([item, height]) => (
        <span
          key={item.id}
          title={`${item.name}: ${dayOf(item.expires_at)}`}
          className={`absolute top-0.5 size-3.5 -translate-x-1/2 rounded-full border-2 border-surface ${colourOf(daysUntil(item.expires_at))}`}
          style={{ left: `${placeOf(item.expires_at)}%`, marginTop: -12 * Math.min(most, height) }}
        />
      ))}
    </div>
  );
}

/** As people write it. */
export function typeName(type: string): string {
  return { 'api-key': 'API key', 'access-key': 'access key' }[type] ?? type;
}

function colourOf(days: number): string {
  if (days <= 7) return 'bg-bad';
  return days <= 30 ? 'bg-warn' : 'bg-accent';
}

function Due({ at }: { at: string }) {
  const days = daysUntil(at);
  const tone = days <= 7 ? 'bad' : days <= 30 ? 'warn' : 'neutral';
  const text = days <= 0 ? 'expired' : days === 1 ? '1 day' : `${days} days`;
  return (
    <span className="w-16 shrink-0 leading-5" title={dayOf(at)}>
      {tone === 'neutral' ? <span className="text-xs">{text}</span> : <Badge tone={tone}>{text}</Badge>}
    </span>
  );
}
