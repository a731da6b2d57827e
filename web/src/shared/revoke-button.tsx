/** Revokes a credential, or deletes another record, after confirmation. */
import { remove } from '../api/client.ts';
import { useRefresh } from '../api/use.ts';
import { ConfirmButton } from '../ui/confirm.tsx';
import { note } from '../ui/toast.tsx';

interface RevokeButtonProps {
  /** As in the path: `access-keys`. */
  readonly collection: string;
  readonly item: { readonly id: string; readonly name: string };
  /** The consequences, shown before the person confirms. */
  readonly text: string;
  readonly verb?: 'Revoke' | 'Delete';
  readonly look?: 'quiet' | 'plain';
}

export function RevokeButton({
  collection,
  item: { id, name },
  text,
  verb = 'Revoke',
  look = 'quiet',
}: RevokeButtonProps) {
  const refresh = useRefresh();
  async function revoke() {
    await remove(`/v1/${collection}/${id}`);
    await refresh(collection, 'path');
    note(`“${name || 'unnamed'}” ${verb.toLowerCase()}d`);
  }
  return (
    <ConfirmButton
      look={look}
      size="small"
      label={verb}
      name={`${verb} ${name}`}
      title={`${verb} “${name || 'unnamed'}”?`}
      text={text}
      action={verb}
      onConfirm={revoke}
    />
  );
}
