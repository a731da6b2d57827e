/** Whether the chains of the log are whole, as the service last found them. Left out where it does not say. */
import { ShieldAlert, ShieldCheck } from 'lucide-react';
import { useOptional } from '../../api/use.ts';
import { Ago } from '../../ui/time.tsx';

interface Verification {
  readonly ok: boolean;
  readonly checked_at?: string;
  readonly entries?: number;
  readonly problem?: string | null;
}

export function ChainVerification() {
  const { data } = useOptional<Verification>('/v1/audit-logs/verification');
  if (!data) return null;
  const Icon = data.ok ? ShieldCheck : ShieldAlert;
  return (
    <div
      role={data.ok ? 'status' : 'alert'}
      className={`flex flex-wrap items-center gap-x-3 gap-y-1 rounded-xl px-4 py-3 ${data.ok ? 'bg-good-soft text-good' : 'bg-bad-soft text-bad'}`}
    >
      <Icon className="size-5 shrink-0" aria-hidden />
      <span className="font-medium">
        {data.ok
          ? 'The chain is whole: nothing was edited, removed or cut off.'
          : (data.problem ?? 'The chain is broken.')}
      </span>
      {data.checked_at && (
        <span className="text-[13px]">
          {data.entries !== undefined && `${new Intl.NumberFormat('en').format(data.entries)} entries, `}
          checked <Ago at={data.checked_at} />
        </span>
      )}
    </div>
  );
}
