/** What vaults contain, asked for together for all that a page shows. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get, query } from '../../api/client.ts';
import type { VaultCounts } from '../../api/types.ts';

type Counts = VaultCounts['data'][number];

export function useVaultCounts(ids: readonly string[]): ReadonlyMap<string, Counts> {
  const path = `/v1/vaults/counts${query({ vault_ids: ids.join(',') })}`;
  const { data } = useQuery({
    // With the collection that it belongs to, so that it is read again with it.
    queryKey: ['vaults', 'counts', path],
    queryFn: () => get<VaultCounts>(path),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });
  return new Map((data?.data ?? []).map(counts => [counts.vault_id, counts]));
}
