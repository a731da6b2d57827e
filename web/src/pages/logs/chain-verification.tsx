/** Whether the log chains are intact, as of the service's last check. Hidden if the service doesn't report it. */
import { LoaderCircle, ShieldAlert, ShieldCheck } from 'lucide-react';
import type { LogVerification } from '../../api/types.ts';
import { useOptional } from '../../api/use.ts';
import { Ago } from '../../ui/time.tsx';

const every = 10_000;
const figures = new Intl.NumberFormat('en');
const looks = {
  whole: { icon: ShieldCheck, colour: 'text-muted', role: 'status' },
  broken: { icon: ShieldAlert, colour: 'rounded-lg bg-bad-soft px-3 py-2 text-bad', role: 'alert' },
  running: { icon: LoaderCircle, colour: 'text-muted', role: 'status' },
} as const;

function stateOf({ ok }: LogVerification): keyof typeof looks {
  if (ok === null) return 'running';
  return ok ? 'whole' : 'broken';
}

function sentenceOf({ ok, findings }: LogVerification): string {
  if (ok === null) return 'Verifying the log…';
  if (ok) return 'The log is intact: no entry was edited, removed or cut off.';
  const places = findings.length === 1 ? 'one place' : `${findings.length} places`;
  return `The log is broken in ${places}. Run “strongroom audit verify” for details.`;
}

export function ChainVerification() {
  const { data } = useOptional<LogVerification>('/v1/audit-logs/verification', true, every);
  if (!data) return null;
  const { icon: Icon, colour, role } = looks[stateOf(data)];
  return (
    <div role={role} className={`flex items-start gap-2 ${colour}`}>
      <Icon className={`mt-0.5 size-4 shrink-0 ${data.ok ? 'text-good' : ''}`} aria-hidden />
      <span>
        <span className={data.ok ? '' : 'font-medium'}>{sentenceOf(data)}</span>{' '}
        {data.checked_at !== null && (
          <span className="text-xs">
            {figures.format(data.entries.request + data.entries.audit)} entries, checked{' '}
            <Ago at={data.checked_at} />
          </span>
        )}
      </span>
    </div>
  );
}
