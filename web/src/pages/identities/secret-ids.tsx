/** An identity's secret IDs. Each is shown once, when it is created. */
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { CreatedSecretId, Identity, SecretId } from '../../api/types.ts';
import { useList, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { PanelPart } from '../../shared/item-panel.tsx';
import { RevokeButton } from '../../shared/revoke-button.tsx';
import { Button } from '../../ui/button.tsx';
import { DateField, expiryOf } from '../../ui/date-field.tsx';
import { Expiry } from '../../ui/expiry.tsx';
import { FormDialog, OnceDialog } from '../../ui/form-dialog.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { Ago } from '../../ui/time.tsx';

export function SecretIds({ identity }: { identity: Identity }) {
  const may = useMay();
  const [creating, setCreating] = useState(false);
  const list = useList<SecretId>('secret-ids', { identity_id: identity.id });
  const found = list.data?.data ?? [];
  const mayWrite = may('identities:write');
  return (
    <PanelPart
      title="Secret IDs"
      actions={
        mayWrite && (
          <Button size="small" onClick={() => setCreating(true)}>
            <Plus className="size-4" aria-hidden /> New secret ID
          </Button>
        )
      }
    >
      {list.isSuccess && found.length === 0 && <p className="text-muted">No secret IDs yet.</p>}
      <ul className="flex flex-col gap-2">
        {found.map(one => (
          <li key={one.id} className="flex items-start justify-between gap-3">
            <Summary of={one} />
            {mayWrite && (
              <RevokeButton
                collection="secret-ids"
                item={one}
                text="Machines can no longer log in with it."
              />
            )}
          </li>
        ))}
      </ul>
      {creating && <SecretIdForm identity={identity} onClose={() => setCreating(false)} />}
    </PanelPart>
  );
}

function Summary({ of: { name, uses, max_uses, expiration_date, last_used_at } }: { of: SecretId }) {
  return (
    <span className="min-w-0">
      <span className="block font-medium break-words">{name}</span>
      <span className="flex flex-wrap gap-x-3 text-xs text-muted">
        {max_uses !== null && (
          <span>
            {uses} of {max_uses} uses
          </span>
        )}
        <span>
          last used <Ago at={last_used_at} />
        </span>
        <span>
          expires <Expiry at={expiration_date} />
        </span>
      </span>
    </span>
  );
}

function SecretIdForm({ identity, onClose }: { identity: Identity; onClose: () => void }) {
  const form = useForm({ name: '', max_uses: '', expiration_date: '' });
  const [token, setToken] = useState('');
  const refresh = useRefresh();
  async function save({ name, max_uses, expiration_date }: typeof form.values) {
    const created = await post<CreatedSecretId>('/v1/secret-ids', {
      identity_id: identity.id,
      ...(name === '' ? {} : { name }),
      ...(max_uses === '' ? {} : { max_uses: Number(max_uses) }),
      ...(expiration_date === '' ? {} : { expiration_date: expiryOf(expiration_date) }),
    });
    setToken(created.token);
    await refresh('secret-ids');
  }
  if (token !== '')
    return (
      <OnceDialog
        title="Secret ID"
        description={`The machine logs in with this secret ID and the role ID ${identity.id}.`}
        token={token}
        what="secret ID"
        onClose={onClose}
      />
    );
  return (
    <FormDialog title="New secret ID" form={form} onSubmit={save} onClose={onClose} action="Create secret ID">
      <TextField form={form} name="name" label="Name" optional maxLength={255} placeholder="build server" />
      <TextField form={form} name="max_uses" label="Maximum logins" type="number" min={1} optional />
      <DateField form={form} name="expiration_date" label="Expires" optional none="In 30 days" />
    </FormDialog>
  );
}
