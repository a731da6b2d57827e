/** Generates an API key with a role, optionally restricted to scopes and vaults. The key is shown once. */
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { type Form, useForm } from '../../api/form.ts';
import type { CreatedApiKey } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useSession } from '../../session/session.tsx';
import { grantedRoleChoices } from '../../shared/roles.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { DateField, expiryOf } from '../../ui/date-field.tsx';
import { FormDialog, OnceDialog } from '../../ui/form-dialog.tsx';
import { ChoiceField, TextField } from '../../ui/text-field.tsx';
import { VaultsField } from '../../ui/vaults-field.tsx';

interface Values {
  name: string;
  role: string;
  scopes: readonly string[];
  vault_ids: readonly string[];
  expiration_date: string;
}

export function ApiKeyForm({ onClose }: { onClose: () => void }) {
  const form = useForm<Values>({ name: '', role: 'editor', scopes: [], vault_ids: [], expiration_date: '' });
  const [made, setMade] = useState<CreatedApiKey | null>(null);
  const refresh = useRefresh();
  const { state } = useSession();
  async function save({ scopes, vault_ids, ...values }: Values) {
    const key = await post<CreatedApiKey>('/v1/api-keys', {
      ...values,
      expiration_date: expiryOf(values.expiration_date),
      scopes: scopes.length === 0 ? null : scopes,
      vault_ids: vault_ids.length === 0 ? null : vault_ids,
    });
    setMade(key);
    await refresh('api-keys');
  }
  if (made) {
    const line = `curl ${state.base_url}/v1/vaults \\\n  -H 'Authorization: Bearer ${made.token}'`;
    return (
      <OnceDialog wide title={`API key “${made.name}”`} token={made.token} what="API key" onClose={onClose}>
        <CodeBlock text={line} label="curl command" />
      </OnceDialog>
    );
  }
  return (
    <FormDialog title="Generate New Key" form={form} onSubmit={save} onClose={onClose} action="Generate">
      <TextField
        form={form}
        name="name"
        label="Name"
        required
        maxLength={255}
        placeholder="deploy pipeline"
      />
      <ChoiceField
        form={form}
        name="role"
        label="Role"
        choices={grantedRoleChoices}
        hint="You can’t grant more access than you have."
      />
      <DateField form={form} name="expiration_date" label="Expires" optional />
      <ScopeChoice form={form} />
      <VaultsField form={form} />
    </FormDialog>
  );
}

function ScopeChoice({ form }: { form: Form<Values> }) {
  const { permissions } = useSession().signedIn;
  return (
    <Choices
      title="Only these scopes"
      error={form.errorOf('scopes')}
      chosen={form.values.scopes}
      options={permissions.map(scope => [scope, scope] as const)}
      onChange={scopes => form.set('scopes', scopes)}
    />
  );
}

interface ChoicesProps {
  readonly title: string;
  readonly error: string;
  readonly chosen: readonly string[];
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (chosen: readonly string[]) => void;
}

function Choices({ title, error, chosen, options, onChange }: ChoicesProps) {
  return (
    <details className="rounded-lg border px-4 py-2.5">
      <summary className="font-medium">
        {title}{' '}
        <span className="font-normal text-muted">– {chosen.length === 0 ? 'all' : chosen.length}</span>
      </summary>
      <fieldset className="mt-2 grid max-h-56 gap-1 overflow-y-auto sm:grid-cols-2">
        <legend className="sr-only">{title}</legend>
        {options.map(([value, text]) => (
          <label key={value} className="flex items-center gap-2.5">
            <input
              type="checkbox"
              className="shrink-0"
              checked={chosen.includes(value)}
              onChange={event =>
                onChange(event.target.checked ? [...chosen, value] : chosen.filter(one => one !== value))
              }
            />
            <span className="min-w-0 truncate">{text}</span>
          </label>
        ))}
      </fieldset>
      {error !== '' && (
        <p role="alert" className="mt-1 text-xs text-bad">
          {title} {error}.
        </p>
      )}
    </details>
  );
}
