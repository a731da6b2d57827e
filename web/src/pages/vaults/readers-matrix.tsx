/** Access keys and secrets as a table: how often each key was given each value. Cells lead to the key's requests. */
import { Link } from 'wouter';
import { query } from '../../api/client.ts';
import type { VaultReaders } from '../../api/types.ts';
import { useOptional } from '../../api/use.ts';
import { Name } from '../../ui/name.tsx';
import { Loading, Wrong } from '../../ui/page.tsx';
import { Scrollable } from '../../ui/scrollable.tsx';
import { Clock, exactly } from '../../ui/time.tsx';

const figures = new Intl.NumberFormat('en');
const every = 30_000;

export function ReadersMatrix({ vaultId }: { vaultId: string }) {
  const { data, error, refetch } = useOptional<VaultReaders>(`/v1/vaults/${vaultId}/readers`, true, every);
  if (error && !data) return <Wrong error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === null) return null;
  if (data.access_keys.length === 0)
    return <p className="text-muted">No secret of this vault has been read.</p>;
  const highest = Math.max(1, ...data.secrets.flatMap(({ readers }) => readers.map(({ reads }) => reads)));
  return (
    <>
      <Scrollable label="Access keys and secrets" className="overflow-x-auto">
        <table className="text-xs">
          <thead>
            <tr>
              <th scope="col" className="pr-4 pb-2 text-left align-bottom font-medium text-muted">
                Secret
              </th>
              {data.access_keys.map(({ id, name }) => (
                <th key={id} scope="col" className="px-1 pb-2 text-left align-bottom font-medium">
                  <Link
                    href={`/logs/requests${query({ access_key_id: id })}`}
                    className="block max-w-28 min-w-16 hover:underline"
                  >
                    {name === '' ? <span className="text-muted">removed</span> : <Name text={name} />}
                  </Link>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {data.secrets.map(secret => (
              <tr key={secret.id}>
                <th scope="row" className="pr-4 text-left font-mono font-normal whitespace-nowrap">
                  <Link href={`/vaults/${vaultId}/secrets/${secret.id}`} className="hover:underline">
                    {secret.name}
                  </Link>
                </th>
                {data.access_keys.map(({ id }) => (
                  <Cell
                    key={id}
                    keyId={id}
                    vaultId={vaultId}
                    highest={highest}
                    found={secret.readers.find(one => one.access_key_id === id)}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrollable>
      <p className="mt-3 text-xs text-muted">
        {data.since === null ? (
          'Everything in the request log'
        ) : (
          <>
            The newest 10,000 reads, since <Clock at={data.since} />
          </>
        )}
        {data.secrets.length === 50 && ', for the first 50 secrets by name'}.
      </p>
    </>
  );
}

interface CellProps {
  readonly keyId: string;
  readonly vaultId: string;
  readonly highest: number;
  readonly found: VaultReaders['secrets'][number]['readers'][number] | undefined;
}

/** The logarithm, because one key can read a thousand times as often as another. */
function Cell({ keyId, vaultId, highest, found }: CellProps) {
  if (found === undefined) {
    return (
      <td className="p-0.5">
        <span className="block h-6 rounded bg-sunken">
          <span className="sr-only">not read</span>
        </span>
      </td>
    );
  }
  const strength = 18 + 62 * (Math.log1p(found.reads) / Math.log1p(highest));
  return (
    <td className="p-0.5">
      <Link
        href={`/logs/requests${query({ access_key_id: keyId, vault_id: vaultId, success: 'true' })}`}
        title={`${found.reads} reads, last ${exactly(found.last_at)}`}
        className="block h-6 rounded px-1.5 leading-6 text-ink tabular-nums hover:underline"
        style={{ background: `color-mix(in srgb, var(--chart-good) ${strength / 2}%, var(--surface))` }}
      >
        {figures.format(found.reads)}
      </Link>
    </td>
  );
}
