/** One call as it would be made, and the three ways to decide about it. */
import { useEffect, useRef } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Approval } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Problem } from '../../ui/dialog.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Scrollable } from '../../ui/scrollable.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { visibleText } from './visible-text.ts';

export function ApprovalRequest({ of: approval, isMeant }: { of: Approval; isMeant: boolean }) {
  const { request, access_key, rule, created_at, expires_at } = approval;
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isMeant) box.current?.scrollIntoView({ block: 'center' });
  }, [isMeant]);
  const headers = Object.entries(request.headers);
  const body = request.body ?? request.body_base64;
  return (
    <article
      ref={box}
      aria-label={`${request.method} ${request.url}`}
      className={`surface flex flex-col gap-4 px-5 py-4 ${isMeant ? 'ring-2 ring-accent' : ''}`}
    >
      <div className="min-w-0">
        <h2 className="font-mono text-base font-semibold break-all">
          {request.method} {request.url}
        </h2>
        <p className="text-xs text-muted">
          asked <Ago at={created_at} />, expires <Ago at={expires_at} />
        </p>
      </div>
      <Facts
        facts={[
          ['Access key', access_key],
          ['Rule', rule],
          ['Sends', `${request.secret}, ${request.place}`],
          ...headers.map(([name, value]) => [name, <Mono key={name}>{value}</Mono>] as const),
        ]}
      />
      {body !== null && (
        <Scrollable label="Body" className="max-h-72 overflow-auto rounded-lg bg-sunken p-3">
          <pre className="font-mono text-xs break-all whitespace-pre-wrap">{visibleText(body)}</pre>
        </Scrollable>
      )}
      <Decision of={approval} />
    </article>
  );
}

function Decision({ of: { id, rule } }: { of: Approval }) {
  const may = useMay();
  const form = useForm({});
  const refresh = useRefresh();
  if (!may('approvals:write')) return <p className="text-muted">You don’t have permission to decide.</p>;
  const decide = (path: string, body: object | undefined, done: string) =>
    form.submit(async () => {
      await post(`/auth/approvals/${id}/${path}`, body);
      note(done);
      await refresh('approvals');
    });
  return (
    <div className="flex flex-col gap-3">
      <Problem text={form.problem} />
      <div className="flex flex-wrap gap-2">
        <Button
          look="primary"
          busy={form.busy}
          onClick={decide('approve', { scope: 'call' }, 'Approved once')}
        >
          Approve once
        </Button>
        <Button
          disabled={form.busy}
          onClick={decide('approve', { scope: 'rule' }, `Approved for an hour: ${rule}`)}
        >
          Approve this rule for an hour
        </Button>
        <Button look="danger" disabled={form.busy} onClick={decide('refuse', undefined, 'Refused')}>
          Refuse
        </Button>
      </div>
    </div>
  );
}
