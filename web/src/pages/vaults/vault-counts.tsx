/** Counts the resources in vaults, with one request for all vaults on a page. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get, query } from '../../api/client.ts';
import type { VaultCounts } from '../../api/types.ts';

type Counts = VaultCounts['data'][number];

export function useVaultCounts(ids: readonly string[]): ReadonlyMap<string, Counts> {
  const path = `/v1/vaults/counts${query({ vault_ids: ids.join(',') })}`;
  const { data } = useQuery({
    // Starts with the collection, so that it is refetched with it.
    queryKey: ['vaults', 'counts', path],
    queryFn: () => get<VaultCounts>(path),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });
  return new Map((data?.data ?? []).map(counts => [counts.vault_id, counts]));
}
