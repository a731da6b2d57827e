/** Rolls a secret or a certificate back to an earlier version. */
import { RotateCcw } from 'lucide-react';
import { post } from '../../api/client.ts';
import { useRefresh } from '../../api/use.ts';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { note } from '../../ui/toast.tsx';

interface RollbackProps {
  readonly collection: 'secrets' | 'certificates';
  readonly item: { readonly id: string; readonly version: number };
  readonly version: number;
  /** What becomes current again: `value`. */
  readonly what: string;
  /** What else changes with it. */
  readonly beside?: string | undefined;
}

export function Rollback({ collection, item, version, what, beside = '' }: RollbackProps) {
  const refresh = useRefresh();
  async function roll() {
    await post(`/v1/${collection}/${item.id}/rollback`, { version });
    await refresh(collection, 'keys', 'versions');
    note(`Rolled back to the ${what} of version ${version}`);
  }
  return (
    <ConfirmButton
      look="quiet"
      size="small"
      label={
        <>
          <RotateCcw className="size-4" aria-hidden /> Roll back
          <span className="sr-only">to version {version}</span>
        </>
      }
      title={`Roll back to version ${version}?`}
      text={`Its ${what} becomes the current one, as version ${item.version + 1}. All other versions are kept.${beside}`}
      action="Roll back"
      confirmLook="primary"
      onConfirm={roll}
    />
  );
}
