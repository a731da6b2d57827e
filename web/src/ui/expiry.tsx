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

const tones = { disabled: 'neutral', expired: 'bad', 'not yet active': 'warn' } as const;

/** The current state of a secret or key. */
export function stateOf(of: Dated, now = Date.now()): keyof typeof tones | 'active' {
  if (of.enabled === false) return 'disabled';
  if (of.expiration_date !== null && Date.parse(of.expiration_date) <= now) return 'expired';
  if (of.activation_date !== null && Date.parse(of.activation_date) > now) return 'not yet active';
  return 'active';
}

export function StateBadge({ of }: { of: Dated }) {
  const state = stateOf(of);
  return state === 'active' ? (
    <span className="text-muted">active</span>
  ) : (
    <Badge tone={tones[state]}>{state}</Badge>
  );
}
