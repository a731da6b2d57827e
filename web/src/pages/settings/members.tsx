/** The organization's members, their roles, and invitations by link. */
import { UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { post, put, remove, sentence } from '../../api/client.ts';
import { type InvitedMember, type Member, roles } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay, useSession } from '../../session/session.tsx';
import { Collection } from '../../shared/collection.tsx';
import { LinkOnce } from '../../shared/invitation-link.tsx';
import { roleName } from '../../shared/roles.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { actionsColumn } from '../../ui/columns.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Name } from '../../ui/name.tsx';
import type { Column } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { AccessForm } from './access-form.tsx';
import { InviteForm } from './invite-form.tsx';

const columns: readonly Column<Member>[] = [
  {
    id: 'email',
    header: 'Email',
    wraps: true,
    cell: ({ email }) => (
      <span className="font-medium">
        <Name text={email} />
      </span>
    ),
  },
  { id: 'role', header: 'Role', cell: member => <RoleChoice member={member} /> },
  {
    id: 'vaults',
    header: 'Individual vaults',
    from: 'lg',
    cell: ({ grants, group_ids }) => accessText(grants.length, group_ids.length),
  },
  {
    id: 'state',
    header: 'State',
    from: 'sm',
    cell: ({ state }) =>
      state === 'active' ? <span className="text-muted">active</span> : <Badge tone="warn">{state}</Badge>,
  },
  { id: 'since', header: 'Since', from: 'md', cell: ({ created_at }) => <Ago at={created_at} /> },
  actionsColumn(member => <Actions member={member} />),
];

function accessText(vaults: number, groups: number): string {
  const counted = (count: number, one: string) => (count === 1 ? `1 ${one}` : `${count} ${one}s`);
  const parts = [vaults > 0 && counted(vaults, 'vault'), groups > 0 && counted(groups, 'group')];
  return parts.filter(Boolean).join(', ') || '–';
}

export default function Members() {
  return (
    <Collection<Member>
      collection="members"
      label="Members"
      columns={columns}
      create={{
        scope: 'members:write',
        label: 'Invite',
        icon: UserPlus,
        form: close => <InviteForm onClose={close} />,
      }}
      empty={{ icon: Users, title: 'No members yet', filtered: 'No members match the search' }}
    />
  );
}

function RoleChoice({ member }: { member: Member }) {
  const may = useMay();
  const refresh = useRefresh();
  const { signedIn } = useSession();
  async function change(role: string) {
    await put(`/v1/members/${member.id}`, { role }).then(
      () =>
        note(
          role === 'none'
            ? `${member.email} now has single vaults only`
            : `${member.email} now has the role ${role}`,
        ),
      error => note(sentence(error), { bad: true }),
    );
    await refresh('members');
  }
  if (!may('members:write') || member.id === signedIn.member.id) return <span>{roleName(member.role)}</span>;
  return (
    <select
      aria-label={`Role of ${member.email}`}
      className="control w-auto py-0.5 text-xs"
      value={member.role}
      onChange={event => void change(event.target.value)}
    >
      {roles.map(role => (
        <option key={role} value={role}>
          {roleName(role)}
        </option>
      ))}
    </select>
  );
}

function Actions({ member }: { member: Member }) {
  const may = useMay();
  const refresh = useRefresh();
  const { signedIn } = useSession();
  const [invited, setInvited] = useState<InvitedMember | null>(null);
  const [editing, setEditing] = useState(false);
  async function inviteAgain() {
    setInvited(await post<InvitedMember>(`/v1/members/${member.id}/invitation`));
    await refresh('members');
  }
  async function discard() {
    await remove(`/v1/members/${member.id}`);
    await refresh('members');
    note(`${member.email} removed`);
  }
  if (!may('members:write') || member.id === signedIn.member.id) return null;
  return (
    <span className="flex flex-wrap justify-end gap-1">
      <Button
        look="quiet"
        size="small"
        aria-label={`Vaults of ${member.email}`}
        onClick={() => setEditing(true)}
      >
        Vaults
      </Button>
      {editing && <AccessForm member={member} onClose={() => setEditing(false)} />}
      <ConfirmButton
        look="quiet"
        size="small"
        label="New link"
        name={`New link for ${member.email}`}
        title={`Create a new link for ${member.email}?`}
        text="This ends the member’s sessions and invalidates earlier links immediately. They can set a new password or passkey with the new link."
        action="Create link"
        onConfirm={inviteAgain}
      />
      <ConfirmButton
        look="quiet"
        size="small"
        label="Remove"
        name={`Remove ${member.email}`}
        title={`Remove ${member.email}?`}
        text="They are immediately signed out everywhere, and their API keys stop working. Everything else they created is kept."
        action="Remove"
        onConfirm={discard}
      />
      {invited && <LinkOnce invited={invited} onClose={() => setInvited(null)} />}
    </span>
  );
}
