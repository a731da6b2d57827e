/** What rotates when, the next first. */
import { RotateCcw } from 'lucide-react';
import { Link } from 'wouter';
import type { ScheduledRotation } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { VaultText } from '../../shared/vault-name.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Empty, Page } from '../../ui/page.tsx';
import { Ago, Exact } from '../../ui/time.tsx';

const every = 15_000;

export default function Rotations() {
  const list = useList<ScheduledRotation>('rotations', { limit: '100' }, { every });
  const data = list.data?.data;
  const months = [...Map.groupBy(data ?? [], one => monthOf(one.next_rotation_at))];
  return (
    <Page title="Rotations" intro="The secrets that get new values by themselves, the next first.">
      {data?.length === 0 && (
        <Empty icon={RotateCcw} title="No secret rotates yet">
          Set a rotation with <code>strongroom set --rotate-every</code>, or in the API.
        </Empty>
      )}
      {months.map(([month, rotations]) => (
        <section key={month} aria-label={month} className="mb-6">
          <h2 className="mb-2 font-medium">{month}</h2>
          <ul className="surface divide-y divide-line">
            {rotations.map(one => (
              <Line key={one.secret_id} rotation={one} />
            ))}
          </ul>
        </section>
      ))}
    </Page>
  );
}

function Line({ rotation: one }: { rotation: ScheduledRotation }) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
      <span className="min-w-40 text-sm">
        <Exact at={one.next_rotation_at} />
      </span>
      <span className="min-w-0 flex-1 basis-56">
        <Link
          href={`/vaults/${one.vault_id}/secrets/${one.secret_id}`}
          className="font-mono text-xs font-medium hover:underline"
        >
          {one.name}
        </Link>
        <span className="text-xs text-muted">
          {' '}
          · every {one.every} in <VaultText id={one.vault_id} /> · last <Ago at={one.rotated_at} />
        </span>
      </span>
      {one.failing_since !== null && <Badge tone="bad">{one.reason ?? 'failing'}</Badge>}
      {one.state === 'overlapping' && <Badge>previous value still valid</Badge>}
    </li>
  );
}

const month = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric' });

function monthOf(moment: string): string {
  return month.format(new Date(moment));
}
