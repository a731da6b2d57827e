/** What waits for a decision: agents' calls, each with exactly what it would send and where, requests for a role, and writes to review. */
import { BellRing, Inbox } from 'lucide-react';
import { Fragment, useState } from 'react';
import { useParams } from 'wouter';
import type { Approval, Proposal, RoleRequest } from '../../api/types.ts';
import { useList, useRecord } from '../../api/use.ts';
import { useRequests, useWaiting } from '../../shared/approvals.ts';
import { Who } from '../../shared/who.tsx';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Exact } from '../../ui/exact.tsx';
import { Empty, Loading, Page, Section, Wrong } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { ApprovalRequest } from './approval-request.tsx';
import { DecidedProposals, LinkedProposal, ProposalCard } from './proposals.tsx';
import { RoleRequestCard } from './role-requests.tsx';
import { useSteady } from './steady.ts';

/** How often requests for roles and writes are read. */
const often = 5_000;

/** One of these. All are in one list, so that none appears above another. */
interface Card {
  readonly id: string;
  readonly call?: Approval;
  readonly role?: RoleRequest;
  readonly write?: Proposal;
}

export default function Approvals() {
  const { approval, proposal } = useParams<{ approval?: string; proposal?: string }>();
  const waiting = useWaiting();
  const requests = useRequests(often);
  const calls = waiting.data?.data ?? [];
  const cards = useSteady<Card>([
    ...calls.map(call => ({ id: call.id, call })),
    ...requests.roles.map(role => ({ id: role.id, role })),
    ...requests.proposals.map(write => ({ id: write.id, write })),
  ]);
  const isElsewhere = approval !== undefined && waiting.isSuccess && !calls.some(({ id }) => id === approval);
  return (
    <Page
      title="Approvals"
      intro="Calls that agents ask to make with a secret, requests for access, and writes to review. “Approve once” allows exactly the call you see."
      actions={<Notify />}
    >
      {isElsewhere && <Decided id={approval} />}
      {proposal !== undefined && <LinkedProposal id={proposal} among={requests.proposals} />}
      <div aria-live="polite" className="flex flex-col gap-4">
        {waiting.isLoading && <Loading />}
        {waiting.isError && <Wrong error={waiting.error} retry={() => void waiting.refetch()} />}
        {!waiting.isLoading && !waiting.isError && cards.length === 0 && (
          <div className="surface">
            <Empty icon={Inbox} title="Nothing to approve">
              When an agent asks for a call that requires approval, it appears here within a second. Requests
              for access and writes to vaults with review appear here too.
            </Empty>
          </div>
        )}
        {cards.map(({ of: { id, call, role, write }, isGone }) => (
          <Fragment key={id}>
            {call && <ApprovalRequest of={call} isMeant={id === approval} isGone={isGone} />}
            {role && <RoleRequestCard of={role} isGone={isGone} />}
            {write && <ProposalCard of={write} isMeant={id === proposal} isGone={isGone} />}
          </Fragment>
        ))}
      </div>
      <DecidedProposals />
      <Earlier />
    </Page>
  );
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
  cancelled: 'neutral',
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
