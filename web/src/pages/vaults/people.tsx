/** Everyone who has access to this vault, and where it comes from; and the groups that have a role in it. */
import { UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { put } from '../../api/client.ts';
import type { Group, Vault, VaultPerson } from '../../api/types.ts';
import { useList, useRefresh } from '../../api/use.ts';
import { useMay, useSession } from '../../session/session.tsx';
import { Collection } from '../../shared/collection.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { actionsColumn } from '../../ui/columns.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Name } from '../../ui/name.tsx';
import type { Column } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { AddPerson } from './add-person.tsx';

type Access = VaultPerson['access'][number];

function columnsIn(vault: Vault): readonly Column<VaultPerson>[] {
  return [
    {
      id: 'email',
      header: 'Person',
      wraps: true,
      cell: ({ email, state }) => (
        <span className="font-medium">
          <Name text={email} /> {state === 'invited' && <Badge tone="warn">invited</Badge>}
        </span>
      ),
    },
    {
      id: 'access',
      header: 'Access',
      wraps: true,
      cell: ({ access }) => (
        <ul className="flex flex-col gap-0.5">
          {access.map(one => (
            <li key={`${one.by} ${one.group?.id} ${one.role} ${one.until}`}>
              <AccessText of={one} />
            </li>
          ))}
        </ul>
      ),
    },
    actionsColumn(person => <Actions vault={vault} person={person} />),
  ];
}

function AccessText({ of: { by, role, until, group } }: { of: Access }) {
  const from = { organization: 'in every vault', vault: 'in this vault', group: `through ${group?.name}` };
  return (
    <>
      {role} <span className="text-muted">{from[by]}</span>
      {until !== undefined && (
        <span className="text-warn">
          , ends <Ago at={until} />
        </span>
      )}
    </>
  );
}

export default function People({ vault }: { vault: Vault }) {
  return (
    <div className="flex flex-col gap-4">
      <Collection<VaultPerson>
        collection={`vaults/${vault.id}/people`}
        label="People"
        columns={columnsIn(vault)}
        create={{
          scope: 'members:write',
          label: 'Add person',
          icon: UserPlus,
          form: close => <AddPerson vault={vault} onClose={close} />,
        }}
        empty={{ icon: Users, title: 'Nobody has access yet', filtered: 'No people match the search' }}
      />
      <Groups vault={vault} />
    </div>
  );
}

function Actions({ vault, person: { id, email, access } }: { vault: Vault; person: VaultPerson }) {
  const may = useMay();
  const refresh = useRefresh();
  const { signedIn } = useSession();
  const [editing, setEditing] = useState(false);
  const own = access.findLast(({ by }) => by === 'vault');
  if (own === undefined || !may('members:write') || id === signedIn.member.id) return null;
  async function take() {
    await put(`/v1/members/${id}`, { change_grants: [{ vault_id: vault.id, role: 'none' }] });
    await refresh('members', `vaults/${vault.id}/people`);
    note(`${email} no longer has a role in ${vault.name}`);
  }
  return (
    <span className="flex justify-end gap-1">
      <Button look="quiet" size="small" aria-label={`Change ${email}`} onClick={() => setEditing(true)}>
        Change
      </Button>
      {editing && (
        <AddPerson
          vault={vault}
          of={{ email, role: own.role, expiration_date: own.until ?? '' }}
          onClose={() => setEditing(false)}
        />
      )}
      <ConfirmButton
        look="quiet"
        size="small"
        label="Remove"
        name={`Remove ${email}`}
        title={`Remove ${email} from ${vault.name}?`}
        text="They immediately lose the role that they have in this vault. Roles in the organization and in groups stay."
        action="Remove"
        onConfirm={take}
      />
    </span>
  );
}

/** Groups with a role here, also those without members. */
function Groups({ vault }: { vault: Vault }) {
  const groups = useList<Group>('groups', { vault_id: vault.id, limit: 100 });
  const found = (groups.data?.data ?? []).flatMap(({ id, name, grants }) =>
    grants.filter(one => one.vault_id === vault.id).map(one => ({ id, name, ...one })),
  );
  if (found.length === 0) return null;
  return (
    <p className="text-xs text-muted">
      Groups with a role in this vault:{' '}
      {found.map(({ id, name, role }, at) => (
        <span key={`${id} ${role}`}>
          {at > 0 && ', '}
          <Name text={name} /> ({role})
        </span>
      ))}
      . They are set under{' '}
      <Link href="/settings/groups" className="underline">
        Groups
      </Link>
      .
    </p>
  );
}
