/** Where a certificate comes from: PEM, a PKCS#12 file, or the signature of a key in the vault. */
import type { ReactNode } from 'react';
import type { Form } from '../../api/form.ts';
import { base64Of } from '../../import/files.ts';
import { Field } from '../../ui/field.tsx';
import { linesOf } from '../../ui/lines.ts';
import { AreaField, ChoiceField, TextField } from '../../ui/text-field.tsx';
import { SubjectFields } from './subject-fields.tsx';

export interface SourceValues {
  source: string;
  pem: string;
  pkcs12: string;
  passphrase: string;
  subject: string;
  sans: string;
  days: string;
}

export const emptySource: SourceValues = {
  source: 'pem',
  pem: '',
  pkcs12: '',
  passphrase: '',
  subject: '',
  sans: '',
  days: '365',
};

interface SourceFieldsProps<V extends SourceValues> {
  readonly form: Form<V>;
  /** How to choose a self-signed certificate; null if no key can sign it. */
  readonly selfSigned: string | null;
  /** The choice of the key that signs it. */
  readonly keyChoice?: ReactNode;
}

export function SourceFields<V extends SourceValues>({ form, selfSigned, keyChoice }: SourceFieldsProps<V>) {
  const { source } = form.values;
  return (
    <>
      <ChoiceField
        form={form}
        name={'source' as never}
        label="Source"
        choices={[
          ['pem', 'PEM (the certificate and its chain, in any order)'],
          ['pkcs12', 'PKCS#12 file (.p12, .pfx)'],
          ...(selfSigned === null ? [] : [['self_signed', selfSigned] as const]),
        ]}
      />
      {source === 'pem' && <AreaField form={form} name={'pem' as never} label="PEM" rows={6} required />}
      {source === 'pkcs12' && <Pkcs12 form={form as unknown as Form<SourceValues>} />}
      {source === 'self_signed' && (
        <>
          {keyChoice}
          <SubjectFields form={form} />
          <TextField
            form={form}
            name={'days' as never}
            label="Validity in days"
            type="number"
            min={1}
            max={3650}
            required
          />
        </>
      )}
    </>
  );
}

function Pkcs12({ form }: { form: Form<SourceValues> }) {
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

export function sourceOf({ source, pem, pkcs12, passphrase, subject, sans, days }: SourceValues): object {
  if (source === 'pem') return { pem };
  if (source === 'pkcs12') return { pkcs12, passphrase };
  return { self_signed: { subject, sans: linesOf(sans), days: Number(days) } };
}
