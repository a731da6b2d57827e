/** Making an access key, or changing its narrowings. The key itself is shown once, with lines to use it. */
import { useState } from 'react';
import { post, put } from '../../api/client.ts';
import { type Form, useForm } from '../../api/form.ts';
import type { AccessKey } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useSession } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { SearchChoice, vaults } from '../../ui/search-choice.tsx';
import { AreaField, CheckField, DateField, localOf, momentOf, TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';
import { TokenOnce } from '../../ui/token-once.tsx';
import { TryLines } from '../set-up/try-lines.tsx';
import { namesOf } from '../vaults/certificate-form.tsx';

interface Values {
  vault_id: string;
  name: string;
  secrets: boolean;
  keys: boolean;
  certificates: boolean;
  names: string;
  names_only: boolean;
  cidrs: string;
  expiration_date: string;
  max_uses: string;
  rate_limit: string;
}

interface AccessKeyFormProps {
  readonly item?: AccessKey;
  readonly vaultId?: string;
  readonly onClose: () => void;
}

function valuesOf(item: AccessKey | undefined, vaultId: string): Values {
  const has = (kind: string) => item?.kinds?.includes(kind) ?? true;
  return {
    vault_id: vaultId,
    name: item?.name ?? '',
    secrets: has('secret'),
    keys: has('key'),
    certificates: has('certificate'),
    names: item?.names?.join('\n') ?? '',
    names_only: item?.names_only ?? false,
    cidrs: item?.cidrs?.join('\n') ?? '',
    expiration_date: localOf(item?.expiration_date),
    max_uses: item?.max_uses?.toString() ?? '',
    rate_limit: item?.rate_limit?.toString() ?? '',
  };
}

export function AccessKeyForm({ item, vaultId = '', onClose }: AccessKeyFormProps) {
  const form = useForm(valuesOf(item, vaultId));
  const [made, setMade] = useState<AccessKey | null>(null);
  const refresh = useRefresh();
  async function save(values: Values) {
    const body = { name: values.name, ...narrowingsOf(values) };
    if (item) {
      await put(`/v1/access-keys/${item.id}`, body);
      note('Access key changed');
      onClose();
    } else setMade(await post<AccessKey>('/v1/access-keys', { vault_id: values.vault_id, ...body }));
    await refresh('access-keys');
  }
  if (made) return <Made made={made} onClose={onClose} />;
  return (
    <Dialog open onClose={onClose} title={item ? `Change ${item.name}` : 'New access key'}>
      <form className="flex flex-col gap-4" onSubmit={form.submit(save)}>
        {vaultId === '' && <VaultChoice form={form} />}
        <TextField
          form={form}
          name="name"
          label="Name"
          required
          maxLength={255}
          placeholder="payments-api"
          hint="Who uses it: one key for each program."
        />
        <KeyNarrowings form={form} />
        <DialogButtons problem={form.problem}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.busy}>
            {item ? 'Save' : 'Make access key'}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function Made({ made, onClose }: { made: AccessKey; onClose: () => void }) {
  const { state } = useSession();
  return (
    <Dialog open wide onClose={onClose} title={`Access key “${made.name}”`}>
      <div className="flex flex-col gap-5">
        <TokenOnce token={made.token ?? ''} what="access key" />
        <TryLines connection={{ baseUrl: state.base_url, vaultId: made.vault_id, accessKey: made.token }} />
        <DialogButtons>
          <Button look="primary" onClick={onClose}>
            I have copied it
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}

function VaultChoice({ form }: { form: Form<Values> }) {
  return (
    <Field label="Vault" error={form.errorOf('vault_id')}>
      {ids => (
        <SearchChoice
          {...vaults}
          ids={ids}
          placeholder="Choose a vault"
          value={form.values.vault_id}
          onChange={id => form.set('vault_id', id)}
        />
      )}
    </Field>
  );
}

function KeyNarrowings({ form }: { form: Form<Values> }) {
  return (
    <>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1.5 font-medium">May read</legend>
        <div className="flex flex-wrap gap-x-6 gap-y-2">
          <CheckField form={form} name="secrets" label="Secrets" />
          <CheckField form={form} name="keys" label="Keys" />
          <CheckField form={form} name="certificates" label="Certificates" />
        </div>
        <CheckField
          form={form}
          name="names_only"
          label="Names only"
          hint="Sees what there is, and no value."
        />
      </fieldset>
      <AreaField
        form={form}
        name="names"
        label="Only these names"
        optional
        rows={2}
        placeholder="DATABASE_*"
        hint="One pattern in a line; * stands for anything."
      />
      <AreaField
        form={form}
        name="cidrs"
        label="Only from these networks"
        optional
        rows={2}
        placeholder="10.0.0.0/8"
        hint="One in a line."
      />
      <DateField form={form} name="expiration_date" label="Expires" optional />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField form={form} name="max_uses" label="Uses at most" type="number" min={1} optional />
        <TextField
          form={form}
          name="rate_limit"
          label="Requests a minute at most"
          type="number"
          min={1}
          optional
        />
      </div>
    </>
  );
}

function narrowingsOf(values: Values): object {
  const kinds = [
    values.secrets && 'secret',
    values.keys && 'key',
    values.certificates && 'certificate',
  ].filter(Boolean);
  const list = (text: string) => (namesOf(text).length === 0 ? null : namesOf(text));
  const figure = (text: string) => (text === '' ? null : Number(text));
  return {
    kinds: kinds.length === 3 ? null : kinds,
    names: list(values.names),
    names_only: values.names_only,
    cidrs: list(values.cidrs),
    expiration_date: momentOf(values.expiration_date),
    max_uses: figure(values.max_uses),
    rate_limit: figure(values.rate_limit),
  };
}
