/** Revokes a credential after the person confirms. */
import { remove } from '../../api/client.ts';
import { useRefresh } from '../../api/use.ts';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { note } from '../../ui/toast.tsx';

interface RevokeButtonProps {
  /** As in the path: `access-keys`. */
  readonly collection: string;
  readonly item: { readonly id: string; readonly name: string };
  /** What revoking it means. */
  readonly text: string;
}

export function RevokeButton({ collection, item: { id, name }, text }: RevokeButtonProps) {
  const refresh = useRefresh();
  async function revoke() {
    await remove(`/v1/${collection}/${id}`);
    await refresh(collection);
    note(`“${name || 'unnamed'}” revoked`);
  }
  return (
    <ConfirmButton
      look="quiet"
      size="small"
      label="Revoke"
      name={`Revoke ${name}`}
      title={`Revoke “${name || 'unnamed'}”?`}
      text={text}
      action="Revoke"
      onConfirm={revoke}
    />
  );
}
