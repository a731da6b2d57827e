/** The age of a vault's secrets as a map: a field for each, oldest first, which leads to it. */
import { Link } from 'wouter';
import type { Secret } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { Loading, Wrong } from '../../ui/page.tsx';
import { ago } from '../../ui/time.tsx';

const day = 86_400_000;
/** By days since the last change. */
const ages = [
  [30, 'in the last 30 days', 14],
  [90, '1 to 3 months ago', 30],
  [365, '3 to 12 months ago', 52],
  [Number.POSITIVE_INFINITY, 'more than a year ago', 80],
] as const;

export function AgeMap({ vaultId }: { vaultId: string }) {
  const { data, error, refetch } = useList<Secret>('secrets', {
    vault_id: vaultId,
    sort: 'updated',
    limit: 100,
  });
  if (error && !data) return <Wrong error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data.data.length === 0) return <p className="text-muted">This vault has no secrets.</p>;
  return (
    <>
      <ul className="mb-3 flex flex-wrap gap-x-5 gap-y-1 text-xs text-muted">
        {ages.map(([most, words]) => (
          <li key={words} className="flex items-center gap-2">
            <span aria-hidden className="size-2.5 rounded-sm" style={{ background: shadeOf(most) }} />
            {words} ({data.data.filter(one => ageOf(one)[0] === most).length})
          </li>
        ))}
      </ul>
      <ul className="flex flex-wrap gap-1">
        {data.data.map(secret => (
          <li key={secret.id}>
            <Link
              href={`/vaults/${vaultId}/secrets/${secret.id}`}
              title={`${secret.name}, changed ${ago(secret.updated_at)}`}
              aria-label={`${secret.name}, changed ${ago(secret.updated_at)}`}
              className="block size-6 rounded-md transition-transform hover:scale-110"
              style={{ background: shadeOf(ageOf(secret)[0]) }}
            />
          </li>
        ))}
      </ul>
      {data.pagination.total > data.data.length && (
        <p className="mt-3 text-xs text-muted">
          The 100 that were not changed for longest, of {data.pagination.total}.
        </p>
      )}
    </>
  );
}

function ageOf({ updated_at }: Secret) {
  const days = (Date.now() - Date.parse(updated_at)) / day;
  return ages.find(([most]) => days < most)!;
}

function shadeOf(most: number): string {
  const [, , share] = ages.find(([one]) => one === most)!;
  return `color-mix(in srgb, var(--warn) ${share}%, var(--sunken))`;
}
