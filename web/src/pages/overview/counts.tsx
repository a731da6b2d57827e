/** The figures at the top: what is stored, the state of the webhooks, and how much of the plan is used. */
import { Link } from 'wouter';
import type { Overview } from '../../api/types.ts';
import { useMay } from '../../session/session.tsx';

const figures = new Intl.NumberFormat('en');

export function Counts({ facts: { counts, webhooks, plan } }: { facts: Overview }) {
  const may = useMay();
  const of = (name: keyof Overview['counts']) => figures.format(counts[name]);
  const troubled = webhooks.failing + webhooks.disabled;
  return (
    <div className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
      <Figure name="Vaults" value={of('vaults')} href="/vaults" />
      <Figure name="Secrets" value={of('secrets')} />
      <Figure name="Keys" value={of('keys')} />
      <Figure name="Certificates" value={of('certificates')} />
      <Figure
        name="Webhooks"
        value={figures.format(webhooks.total)}
        note={troubled === 0 ? 'no problems' : `${webhooks.failing} failing, ${webhooks.disabled} disabled`}
        bad={webhooks.failing > 0}
        href={may('webhooks:read') ? '/webhooks' : undefined}
      />
      <Figure
        name="API requests this minute"
        value={figures.format(plan.used)}
        note={
          plan.limit === null || plan.limit === 0
            ? `${plan.name}: no limit`
            : `of ${figures.format(plan.limit)}, ${plan.name}`
        }
        bad={Boolean(plan.limit) && plan.used >= (plan.limit ?? 0) * 0.9}
      />
    </div>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
  readonly bad?: boolean;
  readonly href?: string;
}

function Figure({ name, value, note, bad = false, href }: FigureProps) {
  const content = (
    <>
      <span className="block text-[13px] leading-5 text-muted">{name}</span>
      <span className="mt-1 block text-2xl font-semibold tracking-tight tabular-nums">{value}</span>
      {note && <span className={`block text-xs leading-5 ${bad ? 'text-bad' : 'text-muted'}`}>{note}</span>}
    </>
  );
  if (!href) return <div className="surface px-4 py-3">{content}</div>;
  return (
    <Link href={href} className="surface px-4 py-3 transition-colors hover:border-line-strong">
      {content}
    </Link>
  );
}
