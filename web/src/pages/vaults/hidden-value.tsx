/** A value that is fetched only when it is revealed or copied, and hidden again after 30 seconds. */
import { Eye, EyeOff } from 'lucide-react';
import { useState } from 'react';
import { sentence } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Scrollable } from '../../ui/scrollable.tsx';
import { useShown } from '../../ui/shown.ts';

interface HiddenValueProps {
  readonly what: string;
  readonly mayReveal: boolean;
  readonly reveal: () => Promise<string>;
}

export function HiddenValue({ what, mayReveal, reveal }: HiddenValueProps) {
  const shown = useShown<string>();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  async function ask() {
    setBusy(true);
    setProblem('');
    await reveal().then(shown.show, error => setProblem(sentence(error)));
    setBusy(false);
  }
  if (!mayReveal) return <p className="text-muted">Your role can’t reveal this.</p>;
  return (
    <div className="flex flex-col gap-2">
      <div className="rounded-lg border bg-sunken">
        {shown.value === null ? (
          <p className="px-4 py-3 font-mono text-muted" aria-hidden>
            ••••••••••••••••
          </p>
        ) : (
          <Scrollable label={what} className="max-h-80 overflow-auto">
            <pre data-value className="px-4 py-3 font-mono text-xs break-all whitespace-pre-wrap">
              {shown.value}
            </pre>
          </Scrollable>
        )}
      </div>
      <div className="flex flex-wrap items-center gap-2">
        {shown.value === null ? (
          <Button size="small" busy={busy} onClick={ask}>
            <Eye className="size-4" aria-hidden /> Reveal {what}
          </Button>
        ) : (
          <Button size="small" onClick={shown.hide}>
            <EyeOff className="size-4" aria-hidden /> Hide
          </Button>
        )}
        <CopyButton shown look="plain" label={`Copy ${what}`} text={reveal} />
        <span className="text-xs text-muted tabular-nums">
          {shown.value === null
            ? 'Every reveal and copy is recorded in the audit log.'
            : `Hides in ${shown.secondsLeft} s`}
        </span>
      </div>
      <Problem text={problem} />
    </div>
  );
}
