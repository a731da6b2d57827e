/** The deliveries of one webhook or of all webhooks, with their attempts. */
import { RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { post, sentence } from '../../api/client.ts';
import type { Delivery } from '../../api/types.ts';
import { useList, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Section } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Ago, Clock } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { eventName } from './labels.ts';
import { SubjectName, WebhookName } from './names.tsx';

const tones: Record<Delivery['state'], Tone> = { pending: 'warn', delivered: 'neutral', dead: 'bad' };
const every = 3_000;
const size = 10;

export function Deliveries({ webhookId }: { webhookId?: string }) {
  const [page, setPage] = useState(1);
  const list = useList<Delivery>(
    'webhook-deliveries',
    { webhook_id: webhookId, page, limit: size },
    { every: page === 1 && every },
  );
  const found = list.data?.data ?? [];
  return (
    <Section
      title="Deliveries"
      intro="A failed delivery is retried at increasing intervals for about a day, then marked dead. You can redeliver it."
    >
      {list.isSuccess && found.length === 0 && <p className="text-muted">No deliveries yet.</p>}
      {found.length > 0 && (
        <>
          <ul className="-mx-4 -mt-4 divide-y">
            {found.map(delivery => (
              <DeliveryRow key={delivery.id} delivery={delivery} ofOne={webhookId !== undefined} />
            ))}
          </ul>
          <div className="-mx-4 -mb-4 border-t">
            <Pager total={list.data!.pagination.total} page={page} limit={size} onPage={setPage} />
          </div>
        </>
      )}
    </Section>
  );
}

function DeliveryRow({ delivery, ofOne }: { delivery: Delivery; ofOne: boolean }) {
  const may = useMay();
  const refresh = useRefresh();
  const { attempts, state } = delivery;
  async function again() {
    await post(`/v1/webhook-deliveries/${delivery.id}/redeliver`).then(
      () => note('Redelivery queued'),
      error => note(sentence(error), { bad: true }),
    );
    await refresh('webhook-deliveries');
  }
  return (
    <li className="px-4 py-2.5">
      <details>
        <summary className="grid items-center gap-x-3 gap-y-1 rounded sm:grid-cols-[5.5rem_minmax(0,12rem)_minmax(0,1fr)_auto]">
          <span>
            <Badge tone={tones[state]}>{state}</Badge>
          </span>
          <span className="font-medium">{eventName(delivery.event)}</span>
          <span className="min-w-0 break-words">
            <SubjectName delivery={delivery} />
            {!ofOne && delivery.resource_id !== delivery.webhook_id && (
              <>
                {' '}
                to <WebhookName id={delivery.webhook_id} />
              </>
            )}
          </span>
          <span className="text-xs text-muted">
            <Ago at={delivery.created_at} />, {attempts.length}{' '}
            {attempts.length === 1 ? 'attempt' : 'attempts'}
            {delivery.next_attempt_at && state === 'pending' && (
              <>
                , next <Ago at={delivery.next_attempt_at} />
              </>
            )}
          </span>
        </summary>
        <Attempts delivery={delivery} />
        {may('webhooks:write') && state !== 'pending' && (
          <Button size="small" className="mt-2" onClick={again}>
            <RotateCcw className="size-4" aria-hidden /> Redeliver
          </Button>
        )}
      </details>
    </li>
  );
}

function Attempts({ delivery: { attempts } }: { delivery: Delivery }) {
  if (attempts.length === 0) return <p className="mt-2 text-muted">No attempts yet.</p>;
  return (
    <ol className="mt-2 flex flex-col gap-2 border-l-2 pl-4">
      {attempts.map(attempt => (
        <li key={attempt.at}>
          <span className="flex flex-wrap items-center gap-x-3 text-xs">
            <Clock at={attempt.at} />
            <Badge tone={attempt.error === null ? 'good' : 'bad'}>{attempt.status ?? 'no response'}</Badge>
            <span className="text-muted tabular-nums">{attempt.duration_ms} ms</span>
            {attempt.error && <span className="text-bad">{attempt.error}</span>}
          </span>
          {attempt.answer !== '' && (
            <pre className="mt-1 max-h-32 overflow-auto rounded-lg bg-sunken px-3 py-2 font-mono text-xs whitespace-pre-wrap">
              {attempt.answer}
            </pre>
          )}
        </li>
      ))}
    </ol>
  );
}
