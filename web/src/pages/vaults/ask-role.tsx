/** Asks for a role in a vault until a certain time, and shows the request while it waits. */
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { post, remove } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { RoleRequest, Vault } from '../../api/types.ts';
import { useOptional } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { grantedRoleChoices } from '../../shared/roles.ts';
import { Button } from '../../ui/button.tsx';
import { DateField, expiryOf } from '../../ui/date-field.tsx';
import { later } from '../../ui/dates.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ChoiceField, TextField } from '../../ui/text-field.tsx';
import { Exact } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';

const path = '/auth/role-requests';

/** For those who may not see the values, or not change them. */
export function AskRole({ vault }: { vault: Vault }) {
  const may = useMay();
  const [open, setOpen] = useState(false);
  const isFull = may('secrets:reveal') && may('secrets:write');
  const own = useOptional<{ readonly data: readonly RoleRequest[] }>(path, !isFull);
  if (isFull) return null;
  const waiting = own.data?.data.find(one => one.vault_id === vault.id && one.state === 'pending');
  const done = () => void own.refetch();
  if (waiting !== undefined) return <Waiting of={waiting} onDone={done} />;
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <KeyRound className="size-4" aria-hidden /> Request access
      </Button>
      {open && <AskForm vault={vault} onDone={done} onClose={() => setOpen(false)} />}
    </>
  );
}

function Waiting({ of: { id, role, until }, onDone }: { of: RoleRequest; onDone: () => void }) {
  async function withdraw() {
    await remove(`${path}/${id}`);
    note('Request withdrawn');
    onDone();
  }
  return (
    <span className="flex flex-wrap items-center gap-2 text-xs text-muted">
      <span>
        You asked to be {role} until <Exact at={until} />
      </span>
      <Button size="small" onClick={() => void withdraw()}>
        Withdraw
      </Button>
    </span>
  );
}

interface AskFormProps {
  readonly vault: Vault;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function AskForm({ vault, onDone, onClose }: AskFormProps) {
  const may = useMay();
  const role = may('secrets:reveal') ? 'editor' : 'reader';
  const form = useForm({ role, expiration_date: later(1, 'd'), reason: '' });
  async function ask({ role, expiration_date, reason }: typeof form.values) {
    const until = expiryOf(expiration_date);
    await post(path, { vault_id: vault.id, role, until, ...(reason === '' ? {} : { reason }) });
    note('Request sent');
    onDone();
    onClose();
  }
  return (
    <FormDialog
      title={`Request access to ${vault.name}`}
      description="Someone who manages members decides about it."
      form={form}
      onSubmit={ask}
      onClose={onClose}
      action="Send request"
    >
      <ChoiceField form={form} name="role" label="Role in this vault" choices={grantedRoleChoices} />
      <DateField form={form} name="expiration_date" label="Until" none="Choose a date" />
      <TextField form={form} name="reason" label="Reason" optional maxLength={500} />
    </FormDialog>
  );
}
