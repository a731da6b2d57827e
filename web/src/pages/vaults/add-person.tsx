/**
 * Gives a person a role in one vault, with or without an end. A member gets it at once; anyone else is invited, and the
 * link is shown once.
 */
import { useState } from 'react';
import { get, post, put, query } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { GrantedRole, InvitedMember, List, Member, VaultGrant } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { LinkOnce } from '../../shared/invitation-link.tsx';
import { grantedRoleChoices } from '../../shared/roles.ts';
import { DateField, expiryOf } from '../../ui/date-field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ChoiceField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';
import { PersonField } from './person-field.tsx';

interface Values {
  email: string;
  role: string;
  expiration_date: string;
}

interface AddPersonProps {
  readonly vault: { readonly id: string; readonly name: string };
  /** The person whose role is changed; omitted to add one. */
  readonly of?: Values;
  readonly onClose: () => void;
}

const nobody: Values = { email: '', role: 'reader', expiration_date: '' };

export function AddPerson({ vault, of, onClose }: AddPersonProps) {
  const form = useForm(of ?? nobody);
  const [invited, setInvited] = useState<InvitedMember | null>(null);
  const refresh = useRefresh();
  async function save({ email, role, expiration_date }: Values) {
    const until = expiryOf(expiration_date);
    const given = { vault_id: vault.id, role: role as GrantedRole, ...(until === null ? {} : { until }) };
    const member = await memberNamed(email);
    if (member === undefined) await invite(email, given);
    else {
      await put(`/v1/members/${member.id}`, { change_grants: [...keptBeside(given, member), given] });
      note(`${member.email} is now ${role} in ${vault.name}`);
      onClose();
    }
    await refresh('members', `vaults/${vault.id}/people`);
  }
  async function invite(email: string, given: VaultGrant) {
    const body = { email: email.trim(), role: 'none', grants: [given] };
    setInvited(await post<InvitedMember>('/v1/members', body));
  }
  if (invited !== null) return <LinkOnce invited={invited} onClose={onClose} />;
  return (
    <FormDialog
      title={of === undefined ? `Add a person to ${vault.name}` : `Role of ${of.email} in ${vault.name}`}
      form={form}
      onSubmit={save}
      onClose={onClose}
      action={of === undefined ? 'Add' : 'Save'}
    >
      {of === undefined && (
        <PersonField
          value={form.values.email}
          onChange={email => form.set('email', email)}
          error={form.errorOf('email')}
        />
      )}
      <ChoiceField form={form} name="role" label="Role in this vault" choices={grantedRoleChoices} />
      <DateField form={form} name="expiration_date" label="Until" optional none="No end" />
    </FormDialog>
  );
}

async function memberNamed(email: string): Promise<Member | undefined> {
  const wanted = email.trim().toLowerCase();
  const { data } = await get<List<Member>>(`/v1/members${query({ q: wanted, limit: 100 })}`);
  return data.find(one => one.email.toLowerCase() === wanted);
}

/** A role with an end is given in addition to one without. */
function keptBeside(given: VaultGrant, { grants }: Member): readonly VaultGrant[] {
  if (given.until === undefined) return [];
  return grants.filter(one => one.vault_id === given.vault_id && one.until === undefined);
}
