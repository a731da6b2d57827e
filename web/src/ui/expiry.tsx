/** When something expires, and how soon that is. */
import { Badge } from './badge.tsx';
import { ago, dayOf, daysUntil, exactly } from './time.tsx';

export function Expiry({ at }: { at: string | null }) {
  if (at === null) return <span className="text-muted">never</span>;
  const days = daysUntil(at);
  return (
    <time dateTime={at} title={exactly(at)} className="whitespace-nowrap tabular-nums">
      {days > 30 ? dayOf(at) : <Badge tone={days <= 7 ? 'bad' : 'warn'}>{soon(at, days)}</Badge>}
    </time>
  );
}

function soon(at: string, days: number): string {
  return days <= 0 ? `expired ${ago(at)}` : ago(at);
}

interface Dated {
  readonly activation_date: string | null;
  readonly expiration_date: string | null;
  readonly enabled?: boolean;
}

/** The current state of a secret or key. */
export function StateBadge({ of, now = Date.now() }: { of: Dated; now?: number }) {
  if (of.enabled === false) return <Badge>disabled</Badge>;
  if (of.expiration_date !== null && Date.parse(of.expiration_date) <= now)
    return <Badge tone="bad">expired</Badge>;
  if (of.activation_date !== null && Date.parse(of.activation_date) > now)
    return <Badge tone="warn">not yet active</Badge>;
  return <span className="text-muted">active</span>;
}
