/** The current one-time code of a secret, with the seconds it is still valid; hidden again when they are over. */
import { KeyRound } from 'lucide-react';
import { useEffect, useState } from 'react';
import { post, sentence } from '../../api/client.ts';
import type { OneTimeCode as Code } from '../../api/types.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Mono } from '../../ui/facts.tsx';
import { Problem } from '../../ui/problem.tsx';

interface Current {
  readonly code: string;
  readonly until: number;
}

export function OneTimeCode({ secretId }: { secretId: string }) {
  const [current, setCurrent] = useState<Current | null>(null);
  const [left, setLeft] = useState(0);
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  async function show() {
    setBusy(true);
    setProblem('');
    await post<Code>(`/v1/secrets/${secretId}/code`).then(
      ({ code, expires_in }) => {
        setLeft(expires_in);
        setCurrent({ code, until: Date.now() + expires_in * 1000 });
      },
      error => setProblem(sentence(error)),
    );
    setBusy(false);
  }
  useEffect(() => {
    if (current === null) return;
    const timer = setInterval(() => {
      const seconds = Math.ceil((current.until - Date.now()) / 1000);
      setLeft(seconds);
      if (seconds <= 0) setCurrent(null);
    }, 250);
    return () => clearInterval(timer);
  }, [current]);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        {current === null ? (
          <Button look="quiet" size="small" busy={busy} onClick={show}>
            <KeyRound className="size-4" aria-hidden /> Show one-time code
          </Button>
        ) : (
          <>
            <span data-value className="text-lg tabular-nums">
              <Mono>{current.code}</Mono>
            </span>
            <CopyButton text={current.code} label="Copy code" />
            <span className="text-xs text-muted tabular-nums">Valid for {left} s</span>
          </>
        )}
      </div>
      <Problem text={problem} />
    </div>
  );
}
