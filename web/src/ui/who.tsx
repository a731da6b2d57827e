/** A member by email, if the viewer may see members, and by id otherwise: records hold only ids. */
import { useQuery } from '@tanstack/react-query';
import { get } from '../api/client.ts';
import type { List, Member } from '../api/types.ts';
import { useMay, useSession } from '../session/session.tsx';

export function Who({ id }: { id: string }) {
  const { member } = useSession().signedIn;
  const may = useMay();
  const members = useQuery({
    queryKey: ['members', 'names'],
    queryFn: () => get<List<Member>>('/v1/members?limit=100'),
    enabled: may('members:read') && id !== member.id,
    staleTime: 60_000,
  });
  const name = id === member.id ? member.email : members.data?.data.find(one => one.id === id)?.email;
  return <span title={id}>{name ?? `${id.slice(0, 8)}…`}</span>;
}
