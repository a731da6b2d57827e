/** A credential, shown only this once. */
import { TriangleAlert } from 'lucide-react';
import { CopyButton } from './copy.tsx';

export function TokenOnce({ token, what }: { token: string; what: string }) {
  return (
    <div className="rounded-xl border border-warn/40 bg-warn-soft p-4">
      <p className="flex items-start gap-2 font-medium text-warn">
        <TriangleAlert className="mt-1 size-4 shrink-0" aria-hidden />
        Copy this {what} now. It won’t be shown again.
      </p>
      <div className="mt-3 flex items-center gap-2 rounded-lg border bg-surface py-1.5 pr-1.5 pl-3">
        <code data-token className="min-w-0 flex-1 font-mono text-[13px] break-all">
          {token}
        </code>
        <CopyButton text={token} label={`Copy ${what}`} look="plain" />
      </div>
    </div>
  );
}
