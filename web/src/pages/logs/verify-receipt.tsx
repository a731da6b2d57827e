/** An entry's receipt, with a button that verifies it: whether the log still has the entry under it and is intact. */
import { useState } from 'react';
import { get, sentence } from '../../api/client.ts';
import type { LogVerification } from '../../api/types.ts';
import { Button } from '../../ui/button.tsx';
import { Mono } from '../../ui/facts.tsx';
import { ago } from '../../ui/time.tsx';

interface Receipted {
  readonly id: string;
  readonly receipt: string;
  readonly verified: boolean;
}

interface VerifyReceiptProps {
  readonly log: 'request-logs' | 'audit-logs';
  readonly entry: Receipted;
}

export function VerifyReceipt({ log, entry }: VerifyReceiptProps) {
  const [result, setResult] = useState<{ ok: boolean; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  async function verify() {
    setBusy(true);
    setResult(await verified(log, entry).catch(error => ({ ok: false, text: sentence(error) })));
    setBusy(false);
  }
  return (
    <span className="flex flex-col items-start gap-2">
      <Mono>{entry.receipt}</Mono>
      {!entry.verified && <span className="text-bad">Not verified yet.</span>}
      <Button size="small" busy={busy} onClick={verify}>
        Verify
      </Button>
      <span aria-live="polite" className={result?.ok ? 'text-good' : 'text-bad'}>
        {result?.text}
      </span>
    </span>
  );
}

async function verified(log: string, { id, receipt }: Receipted): Promise<{ ok: boolean; text: string }> {
  const [stored, chain] = await Promise.all([
    get<Receipted>(`/v1/${log}/${id}`),
    get<LogVerification>('/v1/audit-logs/verification'),
  ]);
  if (stored.receipt !== receipt)
    return { ok: false, text: 'The log has a different receipt for this entry.' };
  if (chain.ok === false)
    return { ok: false, text: 'The entry has this receipt, but the log is broken elsewhere.' };
  if (chain.ok === null || chain.checked_at === null)
    return { ok: true, text: 'The entry has this receipt. The log is being verified.' };
  return { ok: true, text: `The entry has this receipt. The log was intact ${ago(chain.checked_at)}.` };
}
