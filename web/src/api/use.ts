/** Hooks that read lists and records through the query cache and refresh them after a change. */
import { keepPreviousData, QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, get, query } from './client.ts';
import type { List } from './types.ts';

export const pageSize = 25;

export type Parameters = Readonly<Record<string, string | number | undefined>>;

export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (count, error) => !(error instanceof ApiError) && count < 2,
        refetchOnWindowFocus: true,
      },
    },
  });
}

export function useList<T>(
  collection: string,
  parameters: Parameters = {},
  options: { readonly every?: number | false; readonly enabled?: boolean } = {},
) {
  const path = `/v1/${collection}${query({ limit: pageSize, ...parameters })}`;
  return useQuery({
    queryKey: [collection, path],
    queryFn: () => get<List<T>>(path),
    placeholderData: keepPreviousData,
    refetchInterval: options.every ?? false,
    enabled: options.enabled ?? true,
  });
}

export function useRecord<T>(collection: string, id: string | undefined, enabled = true) {
  return useQuery({
    queryKey: [collection, 'one', id],
    queryFn: () => get<T>(`/v1/${collection}/${id}`),
    enabled: enabled && id !== undefined && id !== '',
  });
}

/** Reads a path that may not be available: a 403 or 404 gives null, and the page leaves that part out. */
export function useOptional<T>(path: string, enabled = true, every: number | false = false) {
  return useQuery({
    queryKey: ['path', path],
    queryFn: () => get<T>(path).catch(nullWhereAbsent),
    enabled,
    refetchInterval: every,
  });
}

function nullWhereAbsent(error: unknown): null {
  if (error instanceof ApiError && (error.status === 404 || error.status === 403)) return null;
  throw error;
}

/** Returns a function that refetches the named collections after a change. */
export function useRefresh(): (...collections: readonly string[]) => Promise<void> {
  const client = useQueryClient();
  return async (...collections) => {
    await Promise.all(collections.map(name => client.invalidateQueries({ queryKey: [name] })));
  };
}
