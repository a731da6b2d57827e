/** Runs: what agents do for one purpose, how much of their budgets they used, and a button that ends each. */
import { Bot } from 'lucide-react';
import { useState } from 'react';
import { Link, useParams } from 'wouter';
import type { RequestLog, Run } from '../../api/types.ts';
import { useList, useRecord } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { VaultExact } from '../../shared/vault-exact.tsx';
import { Who } from '../../shared/who.tsx';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Exact } from '../../ui/exact.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Empty, Loading, Page, Section, Wrong } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Ago, Clock } from '../../ui/time.tsx';
import { Budgets } from './budgets.tsx';
import { EndRun } from './end-run.tsx';

const every = 3_000;
const size = 20;
const tones: Readonly<Record<Run['state'], Tone>> = { active: 'good', ended: 'neutral', expired: 'neutral' };

export default function Runs() {
  const { run } = useParams<{ run?: string }>();
  return run === undefined ? <AllRuns /> : <OneRun id={run} />;
}

function AllRuns() {
  const [page, setPage] = useState(1);
  const list = useList<Run>('runs', { page, limit: size }, { every: page === 1 && every });
  const found = list.data?.data ?? [];
  return (
    <Page
      title="Runs"
      intro="What agents do for one purpose, until an end and within budgets. Ending a run takes away everything that it may do."
    >
      <div className="surface">
        {list.isLoading && <Loading />}
        {list.isError && <Wrong error={list.error} retry={() => void list.refetch()} />}
        {list.isSuccess && found.length === 0 && (
          <Empty icon={Bot} title="No runs yet">
            strongroom run --via starts one for a program, and programs can start them through the API.
          </Empty>
        )}
        <ul className="divide-y">
          {found.map(one => (
            <li key={one.id} className="grid gap-x-6 gap-y-2 px-5 py-3 sm:grid-cols-[1fr_14rem_auto]">
              <span className="min-w-0">
                <Link href={`/runs/${one.id}`} className="font-medium">
                  <Exact text={one.purpose} />
                </Link>
                <span className="block text-xs text-muted">
                  <State of={one} /> began <Ago at={one.created_at} />
                  {one.state === 'active' ? ', ends ' : ', ended '}
                  <Ago at={one.ends_at} />
                </span>
              </span>
              <Budgets of={one} />
              <span>
                <EndRun of={one} />
              </span>
            </li>
          ))}
        </ul>
        {found.length > 0 && (
          <Pager total={list.data!.pagination.total} page={page} limit={size} onPage={setPage} />
        )}
      </div>
    </Page>
  );
}

function OneRun({ id }: { id: string }) {
  const record = useRecord<Run>('runs', id);
  const run = record.data;
  if (record.isError) return <Wrong error={record.error} retry={() => void record.refetch()} />;
  if (run === undefined) return <Loading />;
  return (
    <Page title="Run" above={<Link href="/runs">Runs</Link>} actions={<EndRun of={run} />}>
      <Section title="Purpose">
        <div className="flex flex-col gap-4">
          <p className="text-base">
            <Exact text={run.purpose} />
          </p>
          <Budgets of={run} />
          <Facts facts={factsOf(run)} />
        </div>
      </Section>
      <Timeline id={id} isActive={run.state === 'active'} />
    </Page>
  );
}

function factsOf(run: Run) {
  return [
    ['State', <State key="state" of={run} />],
    ['Began', <Clock key="began" at={run.created_at} />],
    [run.state === 'active' ? 'Ends' : 'Ended', <Clock key="ends" at={run.ends_at} />],
    ...(run.ended_by === null ? [] : [['Ended by', <Who key="by" id={run.ended_by} />] as const]),
    ['Created by', <Who key="who" id={run.created_by} />],
    ...(run.member_id === null ? [] : [['For', <Who key="member" id={run.member_id} />] as const]),
    ...(run.client === null ? [] : [['Client', <Exact key="client" text={run.client} />] as const]),
    ['Vaults', <Vaults key="vaults" ids={run.vault_ids} />],
    ['Use rules', run.rules === null ? 'all of these vaults' : `${run.rules.length} of these vaults`],
  ] as const;
}

function State({ of: { state } }: { of: Run }) {
  return <Badge tone={tones[state]}>{state}</Badge>;
}

function Vaults({ ids }: { ids: readonly string[] }) {
  return (
    <ul>
      {ids.map(id => (
        <li key={id}>
          <VaultExact id={id} />
        </li>
      ))}
    </ul>
  );
}

/** The requests of the run, newest first. */
function Timeline({ id, isActive }: { id: string; isActive: boolean }) {
  const mayRead = useMay()('logs:read');
  const [page, setPage] = useState(1);
  const list = useList<RequestLog>(
    'request-logs',
    { run_id: id, page, limit: size },
    { enabled: mayRead, every: isActive && page === 1 && every },
  );
  if (!mayRead) return null;
  const found = list.data?.data ?? [];
  return (
    <Section title="Requests" intro="Each use has an entry before it is sent, and another with its outcome.">
      {list.isSuccess && found.length === 0 && <p className="text-muted">No requests yet.</p>}
      <ol className="flex flex-col gap-2 border-l-2 pl-4">
        {found.map(({ id: entry, created_at, requested, status }) => (
          <li key={entry} className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <span className="text-xs text-muted">
              <Clock at={created_at} />
            </span>
            <Badge tone={status >= 400 ? 'bad' : 'neutral'}>{status === 102 ? 'sent' : status}</Badge>
            <span className="min-w-0 font-mono text-xs break-all">
              <Exact text={requested} />
            </span>
          </li>
        ))}
      </ol>
      {found.length > 0 && (
        <Pager total={list.data!.pagination.total} page={page} limit={size} onPage={setPage} />
      )}
    </Section>
  );
}
