/** Agents' calls that wait for an approval, each with exactly what it would send and where. */
import { BellRing, Inbox } from 'lucide-react';
import { useState } from 'react';
import { useParams } from 'wouter';
import type { Approval } from '../../api/types.ts';
import { useList, useRecord } from '../../api/use.ts';
import { useWaiting } from '../../shared/approvals.ts';
import { Who } from '../../shared/who.tsx';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Exact } from '../../ui/exact.tsx';
import { Empty, Loading, Page, Section, Wrong } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { ApprovalRequest } from './approval-request.tsx';
import { RoleRequests } from './role-requests.tsx';

export default function Approvals() {
  const { approval } = useParams<{ approval?: string }>();
  const waiting = useWaiting();
  const found = waiting.data?.data ?? [];
  const steady = useSteady(found);
  const isElsewhere = approval !== undefined && waiting.isSuccess && !found.some(({ id }) => id === approval);
  return (
    <Page
      title="Approvals"
      intro="Calls that agents ask to make with a secret. “Approve once” allows exactly the call you see."
      actions={<Notify />}
    >
      {isElsewhere && <Decided id={approval} />}
      <RoleRequests />
      <div aria-live="polite" className="flex flex-col gap-4">
        {waiting.isPending && <Loading />}
        {waiting.isError && <Wrong error={waiting.error} retry={() => void waiting.refetch()} />}
        {waiting.isSuccess && found.length === 0 && (
          <div className="surface">
            <Empty icon={Inbox} title="Nothing to approve">
              When an agent asks for a call that requires approval, it appears here within a second.
            </Empty>
          </div>
        )}
        {steady.map(one => (
          <ApprovalRequest
            key={one.id}
            of={one}
            isMeant={one.id === approval}
            isGone={!found.some(({ id }) => id === one.id)}
          />
        ))}
      </div>
      <Earlier />
    </Page>
  );
}

/**
 * Keeps cards in place while any call is waiting: new calls are added below, and decided ones stay where they were. A
 * card that moved up under the pointer could receive a click that was meant for another.
 */
function useSteady(found: readonly Approval[]): readonly Approval[] {
  const [shown, setShown] = useState<readonly Approval[]>([]);
  const added = found.filter(({ id }) => !shown.some(one => one.id === id));
  const isOver = found.length === 0 && shown.length > 0;
  if (added.length === 0 && !isOver) return shown;
  const next = isOver ? [] : [...shown, ...added];
  setShown(next);
  return next;
}

/** The outcome of a linked call that is no longer waiting. */
function Decided({ id }: { id: string }) {
  const { data } = useRecord<Approval>('approvals', id);
  if (data === undefined || data.state === 'pending') return null;
  return (
    <p role="status" className="surface px-5 py-4">
      The call you followed a link to is no longer waiting: <State of={data} />
    </p>
  );
}

const tones: Readonly<Record<Approval['state'], Tone>> = {
  pending: 'warn',
  approved: 'good',
  used: 'good',
  refused: 'bad',
  expired: 'neutral',
};

function State({ of: { state, scope } }: { of: Approval }) {
  const words = state === 'approved' && scope === 'rule' ? 'approved for an hour' : state;
  return <Badge tone={tones[state]}>{words}</Badge>;
}

function Earlier() {
  const list = useList<Approval>('approvals', { state: 'all', limit: 20 });
  const decided = (list.data?.data ?? []).filter(({ state }) => state !== 'pending');
  if (decided.length === 0) return null;
  return (
    <Section title="Earlier" intro="The audit log contains all of them.">
      <ul className="flex flex-col gap-3">
        {decided.map(one => (
          <li key={one.id} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
            <span className="min-w-0">
              <span className="block">
                <Exact text={one.request.method} /> <Exact text={one.request.url} />
              </span>
              <span className="text-xs text-muted">
                <Exact text={one.access_key} /> with <Exact text={one.request.secret} />,{' '}
                <Ago at={one.created_at} />
                {one.decided_by !== null && (
                  <>
                    , decided by <Who id={one.decided_by} />
                  </>
                )}
              </span>
            </span>
            <State of={one} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Requests permission for notifications, which browsers allow only after a click. */
function Notify() {
  const isThere = 'Notification' in window;
  const [permission, setPermission] = useState(isThere ? Notification.permission : 'denied');
  if (permission !== 'default') return null;
  const ask = async () => setPermission(await Notification.requestPermission());
  return (
    <Button onClick={() => void ask()}>
      <BellRing className="size-4" aria-hidden /> Notify me
    </Button>
  );
}
