/** Creates a certificate (imported as PEM or PKCS#12, or signed by a key in the vault), or edits its metadata. */
import { type Form, useForm } from '../../api/form.ts';
import type { Certificate, Key } from '../../api/types.ts';
import { base64Of } from '../../import/files.ts';
import { Field } from '../../ui/field.tsx';
import { linesOf } from '../../ui/lines.ts';
import { ResourceForm } from '../../ui/resource-form.tsx';
import { SearchChoice } from '../../ui/search-choice.tsx';
import { TagsField, tagLines, tagsOf } from '../../ui/tags-field.tsx';
import { AreaField, ChoiceField, TextField } from '../../ui/text-field.tsx';
import { SubjectFields } from './subject-fields.tsx';

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
  const commonOf = ({ name, tags }: Values) => ({ name, tags: tagsOf(tags) });
  return (
    <ResourceForm
      what="certificate"
      collection="certificates"
      refreshes={['keys']}
      resource={item}
      form={form}
      bodyOf={values => ({ ...commonOf(values), key_id: values.key_id || null })}
      creationOf={values => ({ vault_id: vaultId, ...commonOf(values), ...sourceOf(values) })}
      onClose={onClose}
    >
      <TextField form={form} name="name" label="Name" required maxLength={255} placeholder="example.com" />
      {item ? (
        <KeyChoice form={form} vaultId={vaultId} label="Private key" optional hint={noNewPem} />
      ) : (
        <Source form={form} vaultId={vaultId} />
      )}
      <TagsField form={form} />
    </ResourceForm>
  );
}

const noNewPem =
  'The private key in this vault that belongs to the certificate. The certificate itself can’t be changed: to renew it, create a new one, or delete this one first to reuse its name.';

function valuesOf({ name, key_id, tags }: Certificate): Values {
  return { ...empty, name, key_id: key_id ?? '', tags: tagLines(tags) };
}

function Source({ form, vaultId }: { form: Form<Values>; vaultId: string }) {
  return (
    <>
      <ChoiceField
        form={form}
        name="source"
        label="Source"
        choices={[
          ['pem', 'PEM (the certificate and its chain, in any order)'],
          ['pkcs12', 'PKCS#12 file (.p12, .pfx)'],
          ['self_signed', 'Self-signed with a key in this vault'],
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
        hint="If the file contains a private key, the key is stored too."
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
      <KeyChoice form={form} vaultId={vaultId} label="Private key" />
      <SubjectFields form={form} />
      <TextField form={form} name="days" label="Validity in days" type="number" min={1} max={3650} required />
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
          placeholder="Choose a private key in this vault"
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
  return { key_id, self_signed: { subject, sans: linesOf(sans), days: Number(days) } };
}
