/** When something expires, and how soon that is. */
import { Badge } from './badge.tsx';
import { ago, dayOf, daysUntil } from './time.tsx';

export function Expiry({ at }: { at: string | null }) {
  if (at === null) return <span className="text-muted">never</span>;
  const days = daysUntil(at);
  if (days <= 0) return <Badge tone="bad">expired {ago(at)}</Badge>;
  if (days <= 7) return <Badge tone="bad">{ago(at)}</Badge>;
  if (days <= 30) return <Badge tone="warn">{ago(at)}</Badge>;
  return <span className="whitespace-nowrap">{dayOf(at)}</span>;
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
