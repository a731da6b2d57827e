/** The people of the organization, their roles, and invitations by link. */
import { UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { post, put, remove, sentence } from '../../api/client.ts';
import { type Member, roles } from '../../api/types.ts';
import { useList, useRefresh } from '../../api/use.ts';
import { useMay, useSession } from '../../session/session.tsx';
import { useAddress } from '../../ui/address.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Empty } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { type Column, DataTable } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { InviteForm, LinkOnce } from './invite-form.tsx';

const columns: readonly Column<Member>[] = [
  {
    id: 'email',
    header: 'Email',
    cell: ({ email }) => <span className="font-medium break-all">{email}</span>,
  },
  { id: 'role', header: 'Role', cell: member => <RoleChoice member={member} /> },
  {
    id: 'state',
    header: 'State',
    from: 'sm',
    cell: ({ state }) => <Badge tone={state === 'active' ? 'good' : 'warn'}>{state}</Badge>,
  },
  { id: 'since', header: 'Since', from: 'md', cell: ({ created_at }) => <Ago at={created_at} /> },
  { id: 'actions', header: 'Actions', quiet: true, end: true, cell: member => <Actions member={member} /> },
];

export default function Members() {
  const address = useAddress();
  const may = useMay();
  const [inviting, setInviting] = useState(false);
  const q = address.get('q');
  const list = useList<Member>('members', { q, page: address.page });
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <SearchBox label="Search members" value={q} onSearch={text => address.set({ q: text })} />
        {may('members:write') && (
          <Button look="primary" onClick={() => setInviting(true)}>
            <UserPlus className="size-4" aria-hidden /> Invite
          </Button>
        )}
      </div>
      <div className="surface overflow-hidden">
        <DataTable
          label="Members"
          columns={columns}
          list={list}
          page={address.page}
          onPage={address.setPage}
          empty={<Empty icon={Users} title={q === '' ? 'No members yet' : 'Nobody has this in the email'} />}
        />
      </div>
      {inviting && <InviteForm onClose={() => setInviting(false)} />}
    </>
  );
}

function RoleChoice({ member }: { member: Member }) {
  const may = useMay();
  const refresh = useRefresh();
  const { signedIn } = useSession();
  async function change(role: string) {
    await put(`/v1/members/${member.id}`, { role }).then(
      () => note(`${member.email} is ${role} now`),
      error => note(sentence(error), { bad: true }),
    );
    await refresh('members');
  }
  if (!may('members:write') || member.id === signedIn.member.id)
    return <Badge tone="accent">{member.role}</Badge>;
  return (
    <select
      aria-label={`Role of ${member.email}`}
      className="control w-auto py-0.5 text-[13px]"
      value={member.role}
      onChange={event => void change(event.target.value)}
    >
      {roles.map(role => (
        <option key={role}>{role}</option>
      ))}
    </select>
  );
}

function Actions({ member }: { member: Member }) {
  const may = useMay();
  const refresh = useRefresh();
  const { signedIn } = useSession();
  const [token, setToken] = useState('');
  async function inviteAgain() {
    const { token: fresh = '' } = await post<Member>(`/v1/members/${member.id}/invitation`);
    setToken(fresh);
    await refresh('members');
  }
  async function discard() {
    await remove(`/v1/members/${member.id}`);
    await refresh('members');
    note(`${member.email} is no member any more`);
  }
  if (!may('members:write') || member.id === signedIn.member.id) return null;
  return (
    <span className="flex justify-end gap-1">
      <ConfirmButton
        look="quiet"
        size="small"
        label="New link"
        name={`New link for ${member.email}`}
        title={`A new link for ${member.email}?`}
        text="Old links and sessions of this member end at once; the new link lets them set a password or passkey anew."
        action="Make a link"
        onConfirm={inviteAgain}
      />
      <ConfirmButton
        look="quiet"
        size="small"
        label="Remove"
        name={`Remove ${member.email}`}
        title={`Remove ${member.email}?`}
        text="They are signed out everywhere at once. What they made stays."
        action="Remove"
        onConfirm={discard}
      />
      {token !== '' && <LinkOnce email={member.email} token={token} onClose={() => setToken('')} />}
    </span>
  );
}
