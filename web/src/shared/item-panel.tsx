/** Shared parts of the panels of secrets, keys and certificates: loading, headings, deletion with undo. */
import type { UseQueryResult } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import type { ReactNode } from 'react';
import { remove } from '../api/client.ts';
import { useRefresh } from '../api/use.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { SidePanel } from '../ui/dialog.tsx';
import { Loading, Wrong } from '../ui/page.tsx';
import { note } from '../ui/toast.tsx';
import { useRestore } from './restore.ts';

interface ItemPanelProps<T> {
  readonly record: UseQueryResult<T>;
  readonly onClose: () => void;
  readonly kind: string;
  readonly children: (item: T) => ReactNode;
}

export function ItemPanel<T extends { name: string }>({
  record,
  onClose,
  kind,
  children,
}: ItemPanelProps<T>) {
  return (
    <SidePanel open onClose={onClose} title={record.data?.name ?? kind} description={kind}>
      {record.isPending && <Loading />}
      {record.error && !record.data && <Wrong error={record.error} retry={() => void record.refetch()} />}
      {record.data && <div className="flex flex-col gap-7">{children(record.data)}</div>}
    </SidePanel>
  );
}

export function PanelPart({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="flex flex-col gap-3">
      <div className="flex items-center justify-between gap-3">
        <h3 className="text-xs font-semibold text-muted">{title}</h3>
        {actions}
      </div>
      {children}
    </section>
  );
}

interface DeleteItemProps {
  readonly item: { readonly id: string; readonly name: string };
  readonly collection: 'secrets' | 'keys' | 'certificates';
  readonly onDone: () => void;
  /** What else the deletion concerns. */
  readonly reached?: ReactNode;
}

export function DeleteItem({ item, collection, onDone, reached }: DeleteItemProps) {
  const refresh = useRefresh();
  const restore = useRestore(collection);
  async function discard() {
    await remove(`/v1/${collection}/${item.id}`);
    onDone();
    await refresh(collection, 'resources');
    note(`“${item.name}” deleted`, { undo: () => void restore(item) });
  }
  return (
    <ConfirmButton
      label={
        <>
          <Trash2 className="size-4" aria-hidden /> Delete
        </>
      }
      size="small"
      title={`Delete ${item.name}?`}
      text={
        <div className="flex flex-col gap-3">
          <p>It can no longer be read. You can restore it from the trash for 30 days.</p>
          {reached}
        </div>
      }
      action="Delete"
      onConfirm={discard}
    />
  );
}
