/** A credential that is shown only once. Until it is copied, the browser asks before leaving the page. */
import { TriangleAlert } from 'lucide-react';
import { useEffect } from 'react';
import { CopyButton } from './copy.tsx';

interface TokenOnceProps {
  readonly token: string;
  readonly what: string;
  readonly copied: boolean;
  readonly onCopied: () => void;
}

export function TokenOnce({ token, what, copied, onCopied }: TokenOnceProps) {
  useEffect(() => {
    if (copied) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [copied]);
  return (
    <div className="rounded-lg border border-warn/35 bg-warn-soft p-3">
      <p className="flex items-start gap-2 font-medium text-warn">
        <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
        Copy this {what} now. It won’t be shown again.
      </p>
      <div className="mt-3 flex items-center gap-2 rounded-lg border bg-raised py-1 pr-1 pl-3">
        <code data-token className="min-w-0 flex-1 font-mono text-xs break-all">
          {token}
        </code>
        <CopyButton text={token} label={`Copy ${what}`} look="plain" onCopied={onCopied} />
      </div>
    </div>
  );
}
