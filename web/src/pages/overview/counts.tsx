/** The numbers at the top of the overview: resources, webhooks, and use of the plan's limit. Each is a link. */
import { Link } from 'wouter';
import type { Overview } from '../../api/types.ts';
import { useMay } from '../../session/session.tsx';

const figures = new Intl.NumberFormat('en');

export function Counts({ facts: { counts, webhooks, plan } }: { facts: Overview }) {
  const may = useMay();
  const of = (name: keyof Overview['counts']) => figures.format(counts[name]);
  const vaults = may('vaults:read') ? '/vaults' : undefined;
  return (
    <div className="grid grid-cols-2 gap-px overflow-clip rounded-xl border bg-line sm:grid-cols-3 xl:grid-cols-6">
      <Figure name="Vaults" value={of('vaults')} href={vaults} />
      <Figure name="Secrets" value={of('secrets')} href={vaults} />
      <Figure name="Keys" value={of('keys')} href={vaults} />
      <Figure name="Certificates" value={of('certificates')} href={vaults} />
      <Figure
        name="Webhooks"
        value={figures.format(webhooks.total)}
        note={troubleOf(webhooks)}
        bad={webhooks.failing > 0}
        href={may('webhooks:read') ? '/webhooks' : undefined}
      />
      <Figure
        name="Requests this minute"
        value={plan.used === null ? '–' : figures.format(plan.used)}
        note={plan.limit ? `of ${figures.format(plan.limit)}` : 'no limit'}
        bad={Boolean(plan.limit) && (plan.used ?? 0) >= (plan.limit ?? 0) * 0.9}
        href="/settings/organization"
      />
    </div>
  );
}

function troubleOf({ failing, disabled }: Overview['webhooks']): string {
  const parts = [failing > 0 && `${failing} failing`, disabled > 0 && `${disabled} disabled`];
  return parts.filter(Boolean).join(', ');
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
  readonly bad?: boolean;
  readonly href: string | undefined;
}

function Figure({ name, value, note = '', bad = false, href }: FigureProps) {
  const content = (
    <>
      <span className="block text-xs text-muted">{name}</span>
      <span className="mt-0.5 flex flex-wrap items-baseline gap-x-2">
        <span className="text-xl font-semibold tracking-tight tabular-nums">{value}</span>
        {note !== '' && <span className={`text-xs ${bad ? 'text-bad' : 'text-muted'}`}>{note}</span>}
      </span>
    </>
  );
  if (!href) return <div className="bg-surface px-4 py-3">{content}</div>;
  return (
    <Link
      href={href}
      className="bg-surface px-4 py-3 transition-colors hover:bg-canvas focus-visible:-outline-offset-2"
    >
      {content}
    </Link>
  );
}
