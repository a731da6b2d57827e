/** Requests for a role in a vault that wait for a decision. A person’s own requests are decided by others. */
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { RoleRequest } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay, useSession } from '../../session/session.tsx';
import { VaultExact } from '../../shared/vault-exact.tsx';
import { Button } from '../../ui/button.tsx';
import { useDecision } from '../../ui/decision.ts';
import { IgnoredClick } from '../../ui/decision-hint.tsx';
import { Exact as ExactText } from '../../ui/exact.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Ago, Exact } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import type { Steady } from './steady.ts';

export function RoleRequestCard({ of, isGone }: Steady<RoleRequest>) {
  const { member, role, vault_id, until, reason, created_at } = of;
  return (
    <article
      aria-label={`${member.email} asks to be ${role}`}
      className="surface flex flex-col gap-3 px-5 py-4"
    >
      <div className="min-w-0 break-words">
        <h2>
          <strong className="font-semibold">
            <ExactText text={member.email} />
          </strong>{' '}
          asks to be <strong className="font-semibold">{role}</strong> in <VaultExact id={vault_id} /> until{' '}
          <Exact at={until} />
        </h2>
        <p className="text-xs text-muted">
          {reason !== '' && (
            <>
              “<ExactText text={reason} />
              ”,{' '}
            </>
          )}
          requested <Ago at={created_at} />
        </p>
      </div>
      <Decision of={of} isGone={isGone} />
    </article>
  );
}

function Decision({ of: { id, member, role }, isGone }: Steady<RoleRequest>) {
  const may = useMay();
  const { signedIn } = useSession();
  const form = useForm({});
  const refresh = useRefresh();
  const { area, isReady, isIgnored, guarded } = useDecision();
  const [done, setDone] = useState('');
  if (member.id === signedIn.member.id)
    return <p className="text-muted">Someone else decides about your own request.</p>;
  if (!may('members:write', 'organization')) return null;
  const decide = (path: string, done: string) =>
    guarded(
      form.submit(async () => {
        await post(`/auth/role-requests/${id}/${path}`);
        setDone(done);
        note(done);
        await refresh('role-requests', 'members');
      }),
    );
  return (
    <div ref={area} className="flex flex-col gap-2">
      <Problem text={form.problem} />
      {(isGone || done !== '') && (
        <p role="status" className="flex min-h-(--control) items-center text-muted">
          {done || 'This request is no longer waiting.'}
        </p>
      )}
      <div hidden={isGone || done !== ''} className="flex flex-wrap gap-2 [&[hidden]]:hidden">
        <Button
          look="primary"
          busy={form.busy}
          aria-disabled={!isReady}
          onClick={decide('approve', `${member.email} is now ${role}`)}
        >
          Approve
        </Button>
        <Button disabled={form.busy} aria-disabled={!isReady} onClick={decide('refuse', 'Refused')}>
          Refuse
        </Button>
      </div>
      {isIgnored && <IgnoredClick />}
    </div>
  );
}
