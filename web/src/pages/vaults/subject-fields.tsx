/** The fields for a certificate's subject and alternative names. */
import type { Form } from '../../api/form.ts';
import { AreaField, TextField } from '../../ui/text-field.tsx';

export function SubjectFields<V extends { subject: string; sans: string }>({ form }: { form: Form<V> }) {
  return (
    <>
      <TextField
        form={form}
        name={'subject' as never}
        label="Subject"
        placeholder="CN=example.com,O=Example"
        required
      />
      <AreaField
        form={form}
        name={'sans' as never}
        label="Alternative names"
        optional
        rows={2}
        placeholder="dns:example.com"
        hint="One per line, starting with dns:, ip:, email: or uri:"
      />
    </>
  );
}
