/** Resources that expire soon, as a 90-day timeline with a dot for each, and as a list. */
import { CalendarCheck } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Overview } from '../../api/types.ts';
import { VaultText } from '../../shared/vault-name.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { hrefOf } from '../../ui/href.ts';
import { Name } from '../../ui/name.tsx';
import { dayOf, daysUntil } from '../../ui/time.tsx';

type Items = Overview['expiring'];

const span = 90;
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
                  {item.type} in <VaultText id={item.vault_id!} />
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

function Line({ items }: { items: Items }) {
  return (
    <div aria-hidden className="relative mx-2 mt-3 h-10">
      <div className="absolute inset-x-0 top-2 h-px bg-line-strong/50" />
      {marks.map(days => (
        <div
          key={days}
          className="absolute top-0 flex -translate-x-1/2 flex-col items-center"
          style={{ left: `${(days / span) * 100}%` }}
        >
          <span className="h-4 w-px bg-line-strong/50" />
          <span className="mt-1 text-2xs whitespace-nowrap text-muted">
            {days === 0 ? 'now' : `${days} d`}
          </span>
        </div>
      ))}
      {items.map(({ id, expires_at }) => {
        const days = Math.min(span, Math.max(0, daysUntil(expires_at)));
        return (
          <span
            key={id}
            className={`absolute top-0.5 size-3.5 -translate-x-1/2 rounded-full border-2 border-surface ${colourOf(days)}`}
            style={{ left: `${(days / span) * 100}%` }}
          />
        );
      })}
    </div>
  );
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
