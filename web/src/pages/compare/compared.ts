/** Requests comparisons: of a stage, or of any vaults. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get, post } from '../../api/client.ts';
import type { ComparedStage, ComparedVaults, Vault } from '../../api/types.ts';

export const pageSize = 50;

/** Which rows are shown. */
export type Shown = 'all' | 'different' | 'missing';

export type Compared = ComparedStage;
export type Row = Compared['rows'][number];
export type Column = Compared['vaults'][number];

interface Wanted {
  readonly stageId: string | undefined;
  readonly ids: readonly string[];
  readonly shown: Shown;
  readonly page: number;
}

export function useCompared({ stageId, ids, shown, page }: Wanted) {
  const query = { page, limit: pageSize, different: shown === 'different' };
  return useQuery({
    queryKey: ['secrets', 'comparison', stageId ?? '', ids, shown, page],
    queryFn: () =>
      stageId === undefined
        ? compareOthers(ids, query)
        : post<Compared>(`/v1/stages/${stageId}/compare`, { ...query, missing: shown === 'missing' }),
    placeholderData: keepPreviousData,
    // Each comparison is recorded, so there are no automatic refetches.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
}

/** What the last of them lacks is only said of a stage, whose last vault is the one that matters. */
async function compareOthers(ids: readonly string[], query: object): Promise<Compared> {
  const [compared, ...found] = await Promise.all([
    post<ComparedVaults>('/v1/vaults/compare', { vault_ids: ids, ...query }),
    ...ids.map(id => get<Vault>(`/v1/vaults/${id}`)),
  ]);
  return { ...compared, missing: 0, vaults: found.map(({ id, name }) => ({ id, name })) };
}
