/** A certificate: imported as PEM or PKCS#12, or signed by a key of the vault; and what of it can be changed. */
import { post, put } from '../../api/client.ts';
import { type Form, useForm } from '../../api/form.ts';
import type { Certificate, Key } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { base64Of } from '../../import/files.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { SearchChoice } from '../../ui/search-choice.tsx';
import { TagsField, tagLines, tagsOf } from '../../ui/tags-field.tsx';
import { AreaField, ChoiceField, TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';

interface Values {
  name: string;
  source: string;
  pem: string;
  pkcs12: string;
  passphrase: string;
  key_id: string;
  subject: string;
  sans: string;
  days: string;
  tags: string;
}

const empty: Values = {
  name: '',
  source: 'pem',
  pem: '',
  pkcs12: '',
  passphrase: '',
  key_id: '',
  subject: '',
  sans: '',
  days: '365',
  tags: '',
};

interface CertificateFormProps {
  readonly vaultId: string;
  readonly item?: Certificate;
  readonly onClose: () => void;
}

export function CertificateForm({ vaultId, item, onClose }: CertificateFormProps) {
  const form = useForm<Values>(item ? valuesOf(item) : empty);
  const refresh = useRefresh();
  async function save(values: Values) {
    const common = { name: values.name, tags: tagsOf(values.tags) };
    if (item) await put(`/v1/certificates/${item.id}`, { ...common, key_id: values.key_id || null });
    else await post('/v1/certificates', { vault_id: vaultId, ...common, ...sourceOf(values) });
    await refresh('certificates', 'keys');
    note(item ? 'Certificate changed' : `Certificate “${values.name}” stored`);
    onClose();
  }
  return (
    <Dialog open onClose={onClose} title={item ? `Change ${item.name}` : 'New certificate'}>
      <form className="flex flex-col gap-4" onSubmit={form.submit(save)}>
        <TextField form={form} name="name" label="Name" required maxLength={255} placeholder="example.com" />
        {item ? (
          <KeyChoice form={form} vaultId={vaultId} label="Private key" optional hint={noNewPem} />
        ) : (
          <Source form={form} vaultId={vaultId} />
        )}
        <TagsField form={form} />
        <DialogButtons problem={form.problem}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.busy}>
            {item ? 'Save' : 'Store certificate'}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

const noNewPem =
  'The key of this vault that belongs to it. What the certificate says can’t be changed: store a renewed one beside it, or delete this one first to keep the name.';

function valuesOf({ name, key_id, tags }: Certificate): Values {
  return { ...empty, name, key_id: key_id ?? '', tags: tagLines(tags) };
}

function Source({ form, vaultId }: { form: Form<Values>; vaultId: string }) {
  return (
    <>
      <ChoiceField
        form={form}
        name="source"
        label="Where it comes from"
        choices={[
          ['pem', 'A PEM: the leaf first, its chain after'],
          ['pkcs12', 'A PKCS#12 file (.p12, .pfx)'],
          ['self_signed', 'Signed by a key of this vault'],
        ]}
      />
      {form.values.source === 'pem' && <AreaField form={form} name="pem" label="PEM" rows={6} required />}
      {form.values.source === 'pkcs12' && <Pkcs12 form={form} />}
      {form.values.source === 'self_signed' && <SelfSigned form={form} vaultId={vaultId} />}
    </>
  );
}

function Pkcs12({ form }: { form: Form<Values> }) {
  return (
    <>
      <Field
        label="File"
        error={form.errorOf('pkcs12')}
        hint="A private key in it is stored beside the certificate."
      >
        {ids => (
          <input
            {...ids}
            type="file"
            accept=".p12,.pfx,application/x-pkcs12"
            required
            className="control"
            onChange={async event => {
              const file = event.target.files?.[0];
              if (file) form.set('pkcs12', base64Of(await file.arrayBuffer()));
            }}
          />
        )}
      </Field>
      <TextField form={form} name="passphrase" label="Passphrase" type="password" optional />
    </>
  );
}

function SelfSigned({ form, vaultId }: { form: Form<Values>; vaultId: string }) {
  return (
    <>
      <KeyChoice form={form} vaultId={vaultId} label="Key" />
      <TextField form={form} name="subject" label="Subject" placeholder="CN=example.com,O=Example" required />
      <AreaField
        form={form}
        name="sans"
        label="Other names"
        optional
        rows={2}
        placeholder="dns:example.com"
        hint="One in a line: dns:, ip:, email: or uri:"
      />
      <TextField form={form} name="days" label="Days" type="number" min={1} max={3650} required />
    </>
  );
}

interface KeyChoiceProps {
  readonly form: Form<Values>;
  readonly vaultId: string;
  readonly label: string;
  readonly optional?: boolean;
  readonly hint?: string;
}

function KeyChoice({ form, vaultId, ...field }: KeyChoiceProps) {
  return (
    <Field {...field} error={form.errorOf('key_id')}>
      {ids => (
        <SearchChoice<Key>
          collection="keys"
          filter={{ vault_id: vaultId }}
          accept={({ type }) => type === 'private'}
          ids={ids}
          placeholder="Choose a private key of this vault"
          value={form.values.key_id}
          onChange={id => form.set('key_id', id)}
        />
      )}
    </Field>
  );
}

function sourceOf({ source, pem, pkcs12, passphrase, key_id, subject, sans, days }: Values): object {
  if (source === 'pem') return { pem };
  if (source === 'pkcs12') return { pkcs12, passphrase };
  return { key_id, self_signed: { subject, sans: namesOf(sans), days: Number(days) } };
}

export function namesOf(lines: string): string[] {
  return lines
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
}
