/** What expires when: a 90-day timeline with a dot for each resource, and the same as a list. */
import { CalendarCheck } from 'lucide-react';
import { Link } from 'wouter';
import type { Overview } from '../../api/types.ts';
import { hrefOf } from '../../shell/href.ts';
import { Badge } from '../../ui/badge.tsx';
import { dayOf, daysUntil } from '../../ui/time.tsx';
import { VaultName } from '../access/vault-name.tsx';

type Items = Overview['expiring'];

const span = 90;
const marks = [0, 7, 30, 60, 90] as const;

export function ExpiryTimeline({ items }: { items: Items }) {
  if (items.length === 0) {
    return (
      <p className="flex items-center gap-2 text-muted">
        <CalendarCheck className="size-4" aria-hidden /> Nothing expires in the next 90 days.
      </p>
    );
  }
  const sorted = [...items].sort((one, other) => one.expires_at.localeCompare(other.expires_at));
  return (
    <>
      <Line items={sorted} />
      <ul className="mt-4 grid gap-x-8 gap-y-1 md:grid-cols-2">
        {sorted.slice(0, 8).map(item => (
          <li key={item.id} className="flex min-w-0 items-center gap-3 py-1">
            <Due at={item.expires_at} />
            <Link href={hrefOf(item)} className="min-w-0 truncate font-medium hover:underline">
              {item.name}
            </Link>
            <span className="ml-auto max-w-1/2 shrink-0 truncate text-[13px] text-muted">
              {item.type} in <VaultName id={item.vault_id} />
            </span>
          </li>
        ))}
      </ul>
      {sorted.length > 8 && <p className="mt-2 text-[13px] text-muted">and {sorted.length - 8} more</p>}
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
          <span className="mt-1 text-[11px] whitespace-nowrap text-muted">
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
  return (
    <span className="w-18 shrink-0" title={dayOf(at)}>
      <Badge tone={tone}>{days <= 0 ? 'expired' : days === 1 ? '1 day' : `${days} days`}</Badge>
    </span>
  );
}
