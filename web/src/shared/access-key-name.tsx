/** The name of the access key with this id, as a link to its requests. */
import { Link } from 'wouter';
import { query } from '../api/client.ts';
import type { AccessKey } from '../api/types.ts';
import { useRecord } from '../api/use.ts';
import { useMay } from '../session/session.tsx';

export function AccessKeyName({ id }: { id: string | null }) {
  const may = useMay();
  const key = useRecord<AccessKey>('access-keys', id ?? undefined, may('access-keys:read'));
  if (id === null) return <span className="text-muted">none recognized</span>;
  return (
    <Link
      href={`/logs/requests${query({ access_key_id: id })}`}
      className="break-words hover:underline"
      title="Show its requests"
    >
      {key.data?.name ?? `${id.slice(0, 8)}…`}
    </Link>
  );
}
