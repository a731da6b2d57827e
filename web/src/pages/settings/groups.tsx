/** The list of groups. A group gives its members roles in individual vaults. */
import { UsersRound } from 'lucide-react';
import { useState } from 'react';
import { updateGranted } from '../../api/changes.ts';
import { remove } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Group, VaultGrant } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { Collection } from '../../shared/collection.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { actionsColumn } from '../../ui/columns.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Field } from '../../ui/field.tsx';
import { ResourceForm } from '../../ui/resource-form.tsx';
import { SearchChoices } from '../../ui/search-choice.tsx';
import type { Column } from '../../ui/table.tsx';
import { CheckField, TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';
import { GrantsField } from './grants-field.tsx';

const columns: readonly Column<Group>[] = [
  {
    id: 'name',
    header: 'Group',
    cell: ({ name, single_sign_on }) => (
      <span className="flex flex-wrap items-center gap-2">
        <span className="font-medium break-words">{name}</span>
        {single_sign_on && <Badge>single sign-on</Badge>}
      </span>
    ),
  },
  { id: 'vaults', header: 'Vaults', from: 'sm', cell: ({ grants }) => grants.length },
  { id: 'members', header: 'Members', from: 'sm', cell: group => membersIn(group) },
  actionsColumn(group => <Actions group={group} />),
];

function membersIn({ member_ids, signed_on_member_ids }: Group): number {
  return new Set([...member_ids, ...signed_on_member_ids]).size;
}

export default function Groups() {
  return (
    <Collection<Group>
      collection="groups"
      label="Groups"
      columns={columns}
      create={{ scope: 'members:write', label: 'New group', form: close => <GroupForm onClose={close} /> }}
      empty={{
        icon: UsersRound,
        title: 'No groups yet',
        hint: 'A group gives its members roles in individual vaults.',
        filtered: 'No groups match the search',
      }}
    />
  );
}

interface Values {
  name: string;
  grants: readonly VaultGrant[];
  member_ids: readonly string[];
  single_sign_on: boolean;
}

function valuesOf(group: Group | undefined): Values {
  const { name = '', grants = [], member_ids = [], single_sign_on = false } = group ?? {};
  return { name, grants, member_ids, single_sign_on };
}

function GroupForm({ group, onClose }: { group?: Group; onClose: () => void }) {
  const form = useForm(valuesOf(group));
  return (
    <ResourceForm
      what="group"
      collection="groups"
      refreshes={['members']}
      resource={group}
      form={form}
      bodyOf={values => values}
      send={updateGranted}
      onClose={onClose}
    >
      <TextField form={form} name="name" label="Name" required maxLength={255} placeholder="payments" />
      <GrantsField form={form} hint="You can’t grant more access than you have." />
      <Field label="Members" optional error={form.errorOf('member_ids')}>
        {ids => (
          <SearchChoices
            collection="members"
            ids={ids}
            placeholder="Choose members"
            value={form.values.member_ids}
            onChange={chosen => form.set('member_ids', chosen)}
          />
        )}
      </Field>
      <CheckField
        form={form}
        name="single_sign_on"
        label="Filled by single sign-on"
        hint="Also includes members for whom the issuer lists the group’s name when they sign in."
      />
    </ResourceForm>
  );
}

function Actions({ group }: { group: Group }) {
  const may = useMay();
  const refresh = useRefresh();
  const [editing, setEditing] = useState(false);
  async function discard() {
    await remove(`/v1/groups/${group.id}`);
    await refresh('groups', 'members');
    note('Group deleted');
  }
  if (!may('members:write')) return null;
  return (
    <span className="flex justify-end gap-1">
      <Button look="quiet" size="small" aria-label={`Edit ${group.name}`} onClick={() => setEditing(true)}>
        Edit
      </Button>
      <ConfirmButton
        look="quiet"
        size="small"
        label="Delete"
        name={`Delete ${group.name}`}
        title={`Delete ${group.name}?`}
        text="Its members immediately lose the roles that it gives them."
        action="Delete"
        onConfirm={discard}
      />
      {editing && <GroupForm group={group} onClose={() => setEditing(false)} />}
    </span>
  );
}
