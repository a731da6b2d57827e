/** The name of the vault with this id, on pages on which something is decided: others chose it. */
import type { Vault } from '../api/types.ts';
import { useRecord } from '../api/use.ts';
import { Exact } from '../ui/exact.tsx';

/** Every character of the name. */
export function VaultExact({ id }: { id: string }) {
  return <Exact text={useRecord<Vault>('vaults', id).data?.name ?? id} />;
}
