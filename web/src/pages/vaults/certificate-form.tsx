/** Creates a certificate (imported as PEM or PKCS#12, or signed by a key in the vault), or edits its metadata. */
import { type Form, useForm } from '../../api/form.ts';
import type { Certificate, Key } from '../../api/types.ts';
import { Field } from '../../ui/field.tsx';
import { ResourceForm } from '../../ui/resource-form.tsx';
import { SearchChoice } from '../../ui/search-choice.tsx';
import { TagsField, tagLines, tagsOf } from '../../ui/tags-field.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { emptySource, SourceFields, type SourceValues, sourceOf } from './certificate-source.tsx';

interface Values extends SourceValues {
  name: string;
  key_id: string;
  tags: string;
}

const empty: Values = { ...emptySource, name: '', key_id: '', tags: '' };

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
      creationOf={values => ({ vault_id: vaultId, ...commonOf(values), ...creationOf(values) })}
      onClose={onClose}
    >
      <TextField form={form} name="name" label="Name" required maxLength={255} placeholder="example.com" />
      {item ? (
        <KeyChoice form={form} vaultId={vaultId} label="Private key" optional hint={whichKey} />
      ) : (
        <SourceFields
          form={form}
          selfSigned="Self-signed with a key in this vault"
          keyChoice={<KeyChoice form={form} vaultId={vaultId} label="Private key" />}
        />
      )}
      <TagsField form={form} />
    </ResourceForm>
  );
}

const whichKey = 'The private key in this vault that belongs to the certificate.';

function creationOf(values: Values): object {
  return values.source === 'self_signed' ? { key_id: values.key_id, ...sourceOf(values) } : sourceOf(values);
}

function valuesOf({ name, key_id, tags }: Certificate): Values {
  return { ...empty, name, key_id: key_id ?? '', tags: tagLines(tags) };
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
