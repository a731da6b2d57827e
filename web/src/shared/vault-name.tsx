/** A vault by its id, shown by its name. */
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

/** The same without a link, inside of another one. */
export function VaultText({ id }: { id: string }) {
  const vault = useRecord<Vault>('vaults', id);
  return <Name text={vault.data?.name ?? `${id.slice(0, 8)}…`} />;
}
