/** The members and groups with a role in this vault, in addition to members with a role in the organization. */
import { Link, useParams } from 'wouter';
import type { Group, Member, VaultGrant } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { Loading, Section, Wrong } from '../../ui/page.tsx';

interface Given {
  readonly id: string;
  readonly name: string;
  readonly grants: readonly VaultGrant[];
}

const most = 100;

export default function People() {
  const { vault = '' } = useParams<{ vault: string }>();
  const members = useList<Member>('members', { vault_id: vault, limit: most });
  const groups = useList<Group>('groups', { vault_id: vault, limit: most });
  return (
    <Section
      title="People"
      intro={
        <>
          Members with a role in the organization have access to every vault. The members and groups below
          have a role in this vault, set under{' '}
          <Link href="/settings/members" className="underline">
            Members
          </Link>{' '}
          and{' '}
          <Link href="/settings/groups" className="underline">
            Groups
          </Link>
          .
        </>
      }
    >
      <Holders kind="Member" list={members} vault={vault} />
      <Holders kind="Group" list={groups} vault={vault} />
    </Section>
  );
}

interface HoldersProps {
  readonly kind: 'Member' | 'Group';
  readonly list: ReturnType<typeof useList<Given>>;
  readonly vault: string;
}

function Holders({ kind, list, vault }: HoldersProps) {
  if (list.isPending) return <Loading />;
  if (!list.data) return <Wrong error={list.error} retry={() => void list.refetch()} />;
  const { data } = list.data;
  if (data.length === 0)
    return <p className="text-muted">No {kind.toLowerCase()} has a role in this vault.</p>;
  return (
    <ul aria-label={`${kind}s`} className="surface divide-y">
      {data.map(({ id, name, grants }) => (
        <li key={id} className="flex flex-wrap items-center gap-2 px-4 py-2.5">
          <span className="min-w-0 flex-1 font-medium break-all">{name}</span>
          <span className="text-xs text-muted">{kind}</span>
          <span>{grants.find(one => one.vault_id === vault)?.role}</span>
        </li>
      ))}
    </ul>
  );
}
