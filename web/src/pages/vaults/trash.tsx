/** What was deleted from this vault in the last 30 days, and the way back. */
import { RotateCcw, Trash2 } from 'lucide-react';
import { useParams } from 'wouter';
import { post, remove } from '../../api/client.ts';
import type { GenericResource } from '../../api/types.ts';
import { useList, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { useAddress } from '../../ui/address.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Empty } from '../../ui/page.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';

const columns: readonly Column<GenericResource>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ name }) => <span className="font-mono text-[13px] break-all">{name}</span>,
  },
  { id: 'type', header: 'Type', cell: ({ type }) => <Badge>{type}</Badge> },
  { id: 'deleted', header: 'Deleted', from: 'sm', cell: ({ deleted_at }) => <Ago at={deleted_at} /> },
  { id: 'actions', header: 'Actions', quiet: true, end: true, cell: item => <TrashActions item={item} /> },
];

export default function Trash() {
  const { vault = '' } = useParams<{ vault: string }>();
  const address = useAddress();
  const list = useList<GenericResource>('resources', {
    vault_id: vault,
    state: 'deleted',
    page: address.page,
  });
  return (
    <div className="surface overflow-hidden">
      <DataTable
        label="Trash"
        columns={columns}
        list={list}
        page={address.page}
        onPage={address.setPage}
        empty={
          <Empty icon={Trash2} title="The trash is empty">
            What is deleted waits here for 30 days before it is gone for good.
          </Empty>
        }
      />
    </div>
  );
}

function TrashActions({ item }: { item: GenericResource }) {
  const may = useMay();
  const refresh = useRefresh();
  const collection = `${item.type}s`;
  async function restore() {
    try {
      await post(`/v1/resources/${item.id}/restore`);
      note(`“${item.name}” is back`);
    } catch {
      note(`“${item.name}” can’t come back: its name is taken by a newer one.`, { bad: true });
    }
    await refresh('resources', collection);
  }
  async function purge() {
    await remove(`/v1/resources/${item.id}?purge=true`);
    await refresh('resources', collection);
    note(`“${item.name}” is gone for good`);
  }
  if (!may(`${collection}:write`)) return null;
  return (
    <span className="flex flex-wrap justify-end gap-1">
      <Button size="small" onClick={restore} aria-label={`Restore ${item.name}`}>
        <RotateCcw className="size-4" aria-hidden /> Restore
      </Button>
      <ConfirmButton
        look="quiet"
        size="small"
        label="Delete for good"
        name={`Delete for good: ${item.name}`}
        title={`Delete ${item.name} for good?`}
        text="All of its versions are destroyed. Nothing brings them back."
        action="Delete for good"
        onConfirm={purge}
      />
    </span>
  );
}
