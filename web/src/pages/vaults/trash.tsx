/** Resources that were deleted from a vault in the last 30 days, with buttons to restore or purge them. */
import { RotateCcw, Trash2 } from 'lucide-react';
import { useParams } from 'wouter';
import { remove } from '../../api/client.ts';
import type { GenericResource } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { CollectionTable } from '../../shared/collection.tsx';
import { useRestore } from '../../shared/restore.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { actionsColumn } from '../../ui/columns.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import type { Column } from '../../ui/table.tsx';
import { Ago, daysUntil } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';

export const trashColumns: readonly Column<GenericResource>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ name }) => <span className="font-mono text-xs break-all">{name}</span>,
  },
  { id: 'type', header: 'Type', cell: ({ type }) => <Badge>{type}</Badge> },
  {
    id: 'deleted',
    header: 'Deleted',
    from: 'sm',
    cell: ({ deleted_at }) => (
      <span>
        <Ago at={deleted_at} />, {daysLeft(deleted_at)} left
      </span>
    ),
  },
  actionsColumn(item => <TrashActions item={item} />),
];

/** How long it can still be restored. */
function daysLeft(deletedAt: string | null): string {
  const days = deletedAt === null ? 0 : Math.max(0, daysUntil(deletedAt) + 30);
  return days === 1 ? '1 day' : `${days} days`;
}

export default function Trash() {
  const { vault = '' } = useParams<{ vault: string }>();
  return (
    <CollectionTable<GenericResource>
      collection="resources"
      label="Trash"
      columns={trashColumns}
      within={{ vault_id: vault, state: 'deleted' }}
      empty={{
        icon: Trash2,
        title: 'The trash is empty',
        hint: 'Deleted resources stay here for 30 days before they are deleted permanently.',
      }}
    />
  );
}

function TrashActions({ item }: { item: GenericResource }) {
  const may = useMay();
  const refresh = useRefresh();
  const collection = `${item.type}s`;
  const restore = useRestore(collection);
  async function purge() {
    await remove(`/v1/resources/${item.id}?purge=true`);
    await refresh('resources', collection);
    note(`“${item.name}” deleted permanently`);
  }
  if (!may(`${collection}:write`)) return null;
  return (
    <span className="flex flex-wrap justify-end gap-1">
      <Button size="small" onClick={() => restore(item)} aria-label={`Restore ${item.name}`}>
        <RotateCcw className="size-4" aria-hidden /> Restore
      </Button>
      <ConfirmButton
        look="quiet"
        size="small"
        label="Delete permanently"
        name={`Delete permanently: ${item.name}`}
        title={`Delete ${item.name} permanently?`}
        text={`${item.type === 'vault' ? 'Everything in it is' : 'All of its versions are'} destroyed. This can’t be undone.`}
        typed={item.type === 'vault' ? item.name : undefined}
        action="Delete permanently"
        onConfirm={purge}
      />
    </span>
  );
}
