/** The member who is responsible for a secret: anyone for those who may see the members, otherwise the person themselves. */
import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client.ts';
import type { Form } from '../../api/form.ts';
import type { List, Member } from '../../api/types.ts';
import { useMay, useSession } from '../../session/session.tsx';
import { ChoiceField } from '../../ui/text-field.tsx';

export function OwnerField<V extends { owner_id: string }>({ form }: { form: Form<V> }) {
  const { member } = useSession().signedIn;
  const may = useMay();
  const members = useQuery({
    queryKey: ['members', 'names'],
    queryFn: () => get<List<Member>>('/v1/members?limit=100'),
    enabled: may('members:read'),
    staleTime: 60_000,
  });
  const known = members.data?.data ?? [member];
  const chosen = form.initial.owner_id;
  const isOther = chosen !== '' && !known.some(({ id }) => id === chosen);
  return (
    <ChoiceField
      form={form}
      name={'owner_id' as never}
      label="Owner"
      hint="The member who is responsible for it."
      choices={[
        ['', 'none'],
        ...known.map(({ id, email }) => [id, email] as const),
        ...(isOther ? [[chosen, `${chosen.slice(0, 8)}…`] as const] : []),
      ]}
    />
  );
}
