/** The versions of a secret, a key or a certificate, newest first. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { get } from '../../api/client.ts';
import type { List, Version } from '../../api/types.ts';
import { Who } from '../../shared/who.tsx';
import { Ago } from '../../ui/time.tsx';

export function useVersions<V extends Version = Version>(
  collection: 'secrets' | 'keys' | 'certificates',
  id: string,
  current: number,
): UseQueryResult<List<V>> {
  return useQuery({
    queryKey: ['versions', collection, id, current],
    queryFn: () => get<List<V>>(`/v1/${collection}/${id}/versions?limit=50`),
  });
}

interface VersionListProps<V extends Version> {
  readonly list: UseQueryResult<List<V>>;
  /** What else is shown of a version. */
  readonly details?: (version: V) => ReactNode;
  readonly actions?: (version: V) => ReactNode;
}

export function VersionList<V extends Version>({ list, details, actions }: VersionListProps<V>) {
  const versions = list.data?.data ?? [];
  const total = list.data?.pagination.total ?? 0;
  return (
    <>
      <ol className="flex flex-col divide-y rounded-lg border">
        {versions.map(version => (
          <li key={version.version} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2">
            <span className="w-8 font-medium tabular-nums">v{version.version}</span>
            <span className="text-xs text-muted">
              <Ago at={version.created_at} /> by <Who id={version.created_by} />
              {details?.(version)}
            </span>
            <span className="ml-auto flex items-center gap-1">{actions?.(version)}</span>
          </li>
        ))}
      </ol>
      {total > versions.length && <p className="text-xs text-muted">Showing the newest 50 of {total}.</p>}
    </>
  );
}
