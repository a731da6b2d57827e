/** One waiting call exactly as it would be made, with buttons to approve it once, approve its rule, or refuse it. */
import { useEffect, useRef, useState } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Approval } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { VaultExact } from '../../shared/vault-exact.tsx';
import { Button } from '../../ui/button.tsx';
import { useDecision } from '../../ui/decision.ts';
import { IgnoredClick } from '../../ui/decision-hint.tsx';
import { Exact, ExactBox } from '../../ui/exact.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { Novelty, RunContext } from './run-context.tsx';
import type { Steady } from './steady.ts';

interface Shown extends Steady<Approval> {
  readonly isMeant: boolean;
}

export function ApprovalRequest({ of: approval, isMeant, isGone }: Shown) {
  const { request, created_at, expires_at } = approval;
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isMeant) box.current?.scrollIntoView({ block: 'center' });
  }, [isMeant]);
  const [done, setDone] = useState('');
  return (
    <article
      ref={box}
      aria-label={`${request.method} ${request.url}`}
      className={`surface flex flex-col gap-4 px-5 py-4 ${isMeant ? 'ring-2 ring-accent' : ''}`}
    >
      <div className="min-w-0">
        <h2 className="font-semibold">
          <Exact text={request.method} /> <Exact text={request.url} />
        </h2>
        <p className="text-xs text-muted">
          requested <Ago at={created_at} />, expires <Ago at={expires_at} />
        </p>
      </div>
      <Facts facts={factsOf(approval)} />
      <RunContext of={approval} />
      <Headers of={request.headers} />
      {request.body !== null && <ExactBox label="Body" text={request.body} />}
      {request.body_base64 !== null && (
        <ExactBox label="Body" text={request.body_base64} note=", in base64" />
      )}
      <Novelty of={approval} />
      {isGone || done !== '' ? (
        <p role="status" className="flex min-h-(--control) items-center text-muted">
          {done || 'This call is no longer waiting.'}
        </p>
      ) : (
        <Decision of={approval} onDone={setDone} />
      )}
    </article>
  );
}

function factsOf({ vault_id, access_key, own_name, restriction, rule, request }: Approval) {
  return [
    ['Access key', <Exact key="key" text={access_key} />],
    ...(own_name === null ? [] : [['Self-reported name', <Exact key="own" text={own_name} />] as const]),
    ...(restriction === null
      ? []
      : [['Restriction', <Exact key="restriction" text={restriction} />] as const]),
    ['Rule', <Exact key="rule" text={rule} />],
    ['Uses', <Exact key="secret" text={request.secret} />],
    ['Vault', <VaultExact key="vault" id={vault_id} />],
    ['Sent', <Exact key="place" text={request.place} />],
  ] as const;
}

/** In a separate box, because the agent chooses their names too: none of them can pass for one of our rows. */
function Headers({ of: headers }: { of: Readonly<Record<string, string>> }) {
  const all = Object.entries(headers);
  if (all.length === 0) return null;
  return (
    <section aria-label="Headers" className="flex flex-col gap-1.5">
      <h3 className="text-xs text-muted">Headers from the agent, {all.length}</h3>
      <ul className="flex flex-col gap-1 rounded-lg border bg-sunken p-3">
        {all.map(([name, value]) => (
          <li key={name} className="grid gap-x-4 sm:grid-cols-[minmax(6.5rem,14rem)_1fr]">
            <span className="min-w-0 font-semibold">
              <Exact text={name} />
            </span>
            <span className="min-w-0">
              <Exact text={value} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Decision({ of: { id }, onDone }: { of: Approval; onDone: (done: string) => void }) {
  const may = useMay();
  const form = useForm({});
  const refresh = useRefresh();
  const { area, isReady, isIgnored, guarded } = useDecision();
  const mayDecide = may('approvals:write');
  const decide = (path: string, body: object | undefined, done: string) =>
    guarded(
      form.submit(async () => {
        await post(`/auth/approvals/${id}/${path}`, body);
        onDone(done);
        note(done);
        await refresh('approvals');
      }),
    );
  return (
    <div ref={area} className="flex flex-col gap-3">
      {!mayDecide && <p className="text-muted">You don’t have permission to approve or refuse calls.</p>}
      <Problem text={form.problem} />
      {mayDecide && (
        <div className="grid grid-cols-2 gap-2 sm:flex sm:flex-wrap">
          <Button
            look="primary"
            busy={form.busy}
            aria-disabled={!isReady}
            onClick={decide('approve', { scope: 'call' }, 'Approved once')}
          >
            Approve once
          </Button>
          <Button
            look="danger"
            disabled={form.busy}
            aria-disabled={!isReady}
            onClick={decide('refuse', undefined, 'Refused')}
          >
            Refuse
          </Button>
          <Button
            className="col-span-2"
            disabled={form.busy}
            aria-disabled={!isReady}
            onClick={decide('approve', { scope: 'rule' }, 'Approved for an hour')}
          >
            Approve this rule for an hour
          </Button>
        </div>
      )}
      {isIgnored && <IgnoredClick />}
    </div>
  );
}
