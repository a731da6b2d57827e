/** Requests for a role in a vault that wait for a decision. A person’s own requests are decided by others. */
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { RoleRequest } from '../../api/types.ts';
import { useList, useRefresh } from '../../api/use.ts';
import { useMay, useSession } from '../../session/session.tsx';
import { VaultName } from '../../shared/vault-name.tsx';
import { Button } from '../../ui/button.tsx';
import { useDecision } from '../../ui/decision.ts';
import { IgnoredClick } from '../../ui/decision-hint.tsx';
import { Problem } from '../../ui/dialog.tsx';
import { Exact as ExactText } from '../../ui/exact.tsx';
import { Section } from '../../ui/page.tsx';
import { Ago, Exact } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';

const often = 5_000;

export function RoleRequests() {
  const enabled = useMay()('members:read', 'organization');
  const list = useList<RoleRequest>('role-requests', { limit: 100 }, { enabled, every: often });
  const found = list.data?.data ?? [];
  if (found.length === 0) return null;
  return (
    <Section title="Requests for access" intro="Members who ask for a role in a vault, until a certain time.">
      <ul aria-label="Requests for access" className="flex flex-col gap-4">
        {found.map(one => (
          <li key={one.id} className="flex flex-col gap-3 border-b pb-4 last:border-0 last:pb-0">
            <p className="min-w-0 break-words">
              <strong className="font-semibold">
                <ExactText text={one.member.email} />
              </strong>{' '}
              asks to be <strong className="font-semibold">{one.role}</strong> in{' '}
              <VaultName id={one.vault_id} /> until <Exact at={one.until} />
              <span className="block text-xs text-muted">
                {one.reason !== '' && (
                  <>
                    “<ExactText text={one.reason} />
                    ”,{' '}
                  </>
                )}
                requested <Ago at={one.created_at} />
              </span>
            </p>
            <Decision of={one} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Decision({ of: { id, member, role } }: { of: RoleRequest }) {
  const may = useMay();
  const { signedIn } = useSession();
  const form = useForm({});
  const refresh = useRefresh();
  const { area, isReady, isIgnored, guarded } = useDecision();
  if (member.id === signedIn.member.id)
    return <p className="text-muted">Someone else decides about your own request.</p>;
  if (!may('members:write', 'organization')) return null;
  const decide = (path: string, done: string) =>
    guarded(
      form.submit(async () => {
        await post(`/auth/role-requests/${id}/${path}`);
        note(done);
        await refresh('role-requests', 'members');
      }),
    );
  return (
    <div ref={area} className="flex flex-col gap-2">
      <Problem text={form.problem} />
      <div className="flex flex-wrap gap-2">
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
