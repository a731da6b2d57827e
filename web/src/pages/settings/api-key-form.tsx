/** Generating an API key: a role, narrowed to scopes and vaults if wanted. Shown once. */
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { type Form, useForm } from '../../api/form.ts';
import { type ApiKey, roles } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useSession } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
import { ChoiceField, DateField, momentOf, TextField } from '../../ui/text-field.tsx';
import { TokenOnce } from '../../ui/token-once.tsx';
import { VaultsField } from '../../ui/vaults-field.tsx';

interface Values {
  name: string;
  role: string;
  scopes: readonly string[];
  vault_ids: readonly string[];
  expiration_date: string;
}

export const roleChoices = roles.map(role => [role, roleTexts(role)] as const);

function roleTexts(role: (typeof roles)[number]): string {
  const texts = {
    owner: 'owner – everything',
    admin: 'admin – manages everything, reads no value',
    editor: 'editor – reads and changes what is in vaults',
    viewer: 'viewer – sees what there is, reads no value',
    auditor: 'auditor – sees everything and the logs, changes nothing',
  };
  return texts[role];
}

export function ApiKeyForm({ onClose }: { onClose: () => void }) {
  const form = useForm<Values>({ name: '', role: 'editor', scopes: [], vault_ids: [], expiration_date: '' });
  const [made, setMade] = useState<ApiKey | null>(null);
  const refresh = useRefresh();
  const { state } = useSession();
  async function save({ scopes, vault_ids, ...values }: Values) {
    const key = await post<ApiKey>('/v1/api-keys', {
      ...values,
      expiration_date: momentOf(values.expiration_date),
      scopes: scopes.length === 0 ? null : scopes,
      vault_ids: vault_ids.length === 0 ? null : vault_ids,
    });
    setMade(key);
    await refresh('api-keys');
  }
  if (made) {
    const line = `curl ${state.base_url}/v1/vaults \\\n  -H 'Authorization: Bearer ${made.token}'`;
    return (
      <Dialog open wide onClose={onClose} title={`API key “${made.name}”`}>
        <div className="flex flex-col gap-4">
          <TokenOnce token={made.token ?? ''} what="API key" />
          <CodeBlock text={line} label="curl line" />
          <DialogButtons>
            <Button look="primary" onClick={onClose}>
              I have copied it
            </Button>
          </DialogButtons>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog open onClose={onClose} title="Generate New Key">
      <form className="flex flex-col gap-4" onSubmit={form.submit(save)}>
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
          choices={roleChoices}
          hint="Never more than you may yourself."
        />
        <DateField form={form} name="expiration_date" label="Expires" optional />
        <ScopeChoice form={form} />
        <VaultsField form={form} />
        <DialogButtons problem={form.problem || form.errorOf('scopes')}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.busy}>
            Generate
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function ScopeChoice({ form }: { form: Form<Values> }) {
  const { permissions } = useSession().signedIn;
  return (
    <Choices
      title="Only these scopes"
      chosen={form.values.scopes}
      options={permissions.map(scope => [scope, scope] as const)}
      onChange={scopes => form.set('scopes', scopes)}
    />
  );
}

interface ChoicesProps {
  readonly title: string;
  readonly chosen: readonly string[];
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (chosen: readonly string[]) => void;
}

function Choices({ title, chosen, options, onChange }: ChoicesProps) {
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
              className="size-4 shrink-0 accent-accent"
              checked={chosen.includes(value)}
              onChange={event =>
                onChange(event.target.checked ? [...chosen, value] : chosen.filter(one => one !== value))
              }
            />
            <span className="min-w-0 truncate">{text}</span>
          </label>
        ))}
      </fieldset>
    </details>
  );
}
