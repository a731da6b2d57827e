/** The name of the vault with this id, as a link to it. */
import { Link } from 'wouter';
import type { Vault } from '../api/types.ts';
import { useRecord } from '../api/use.ts';
import { Name } from '../ui/name.tsx';

export function VaultName({ id }: { id: string | null }) {
  if (id === null) return <span className="text-muted">–</span>;
  return (
    <Link href={`/vaults/${id}`} className="hover:underline">
      <VaultText id={id} />
    </Link>
  );
}

/** The name without a link, for use inside another link. */
export function VaultText({ id }: { id: string }) {
  const vault = useRecord<Vault>('vaults', id);
  return <Name text={vault.data?.name ?? `${id.slice(0, 8)}…`} />;
}
