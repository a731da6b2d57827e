/**
 * Who did something: a member's email or an API key's name if the viewer may see it, otherwise the id. Records contain
 * only ids, and a member or key that has been removed no longer has a name.
 */
import { useQuery } from '@tanstack/react-query';
import { ApiError, get } from '../api/client.ts';
import type { ApiKey, List, Member } from '../api/types.ts';
import { useMay, useSession } from '../session/session.tsx';

const shortly = 60_000;
const isId = (text: string) => /^[0-9a-f]{8}-/.test(text);

export function Who({ id }: { id: string }) {
  const { member } = useSession().signedIn;
  const may = useMay();
  const isOther = id !== member.id && isId(id);
  const members = useQuery({
    queryKey: ['members', 'names'],
    queryFn: () => get<List<Member>>('/v1/members?limit=100'),
    enabled: may('members:read') && isOther,
    staleTime: shortly,
  });
  const email = id === member.id ? member.email : members.data?.data.find(one => one.id === id)?.email;
  const isUnknown = isOther && email === undefined && !members.isLoading;
  const key = useQuery({
    queryKey: ['api-keys', 'names', id],
    queryFn: () => get<ApiKey>(`/v1/api-keys/${id}`).catch(unlessMissing),
    enabled: may('api-keys:read') && isUnknown,
    staleTime: shortly,
  });
  const name = email ?? key.data?.name;
  return <span title={id}>{name ?? (isId(id) ? `${id.slice(0, 8)}…` : id)}</span>;
}

function unlessMissing(error: unknown): null {
  if (error instanceof ApiError && error.status === 404) return null;
  throw error;
}
