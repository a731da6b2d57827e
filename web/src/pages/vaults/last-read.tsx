/** When an access key was last given a secret, and a sparkline of its reads in the last 14 days. */
import { query } from '../../api/client.ts';
import type { Secret, VaultReaders } from '../../api/types.ts';
import { useOptional } from '../../api/use.ts';
import { Sparkline } from '../../charts/sparkline.tsx';
import { Ago } from '../../ui/time.tsx';

const every = 30_000;
/** As many as the service counts at a time. */
const most = 50;

interface LastReadProps {
  readonly of: Secret;
  /** All of the page, which are counted together. */
  readonly among: readonly Secret[];
}

export function LastRead({ of, among }: LastReadProps) {
  const place = among.findIndex(({ id }) => id === of.id);
  const start = Math.max(0, place - (place % most));
  const secret_ids = among
    .slice(start, start + most)
    .map(({ id }) => id)
    .join(',');
  const path = `/v1/vaults/${of.vault_id}/readers${query({ secret_ids })}`;
  const { data } = useOptional<VaultReaders>(path, secret_ids !== '', every);
  const found = data?.secrets.find(({ id }) => id === of.id);
  const last = found?.readers
    .map(({ last_at }) => last_at)
    .sort()
    .at(-1);
  if (found === undefined || last === undefined) return <span className="sr-only">not read</span>;
  return (
    <span className="flex items-center gap-2">
      <Sparkline days={found.days} what="read" />
      <Ago at={last} />
    </span>
  );
}
