/** A vault by its id, shown by its name. */
import { Link } from 'wouter';
import type { Vault } from '../../api/types.ts';
import { useRecord } from '../../api/use.ts';

export function VaultName({ id }: { id: string | null }) {
  const vault = useRecord<Vault>('vaults', id ?? undefined);
  if (id === null) return <span className="text-muted">–</span>;
  return (
    <Link href={`/vaults/${id}`} className="break-words hover:underline">
      {vault.data?.name ?? `${id.slice(0, 8)}…`}
    </Link>
  );
}
