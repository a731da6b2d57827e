/** Renews a certificate: another one becomes its next version, with the same id and name. */

import { put } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Certificate } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { note } from '../../ui/toast.tsx';
import { emptySource, SourceFields, type SourceValues, sourceOf } from './certificate-source.tsx';

export function RenewalForm({ item, onClose }: { item: Certificate; onClose: () => void }) {
  const isSelfSigned = item.key_id !== null && item.subject === item.issuer;
  const form = useForm<SourceValues>({
    ...emptySource,
    source: isSelfSigned ? 'self_signed' : 'pem',
    subject: item.subject,
    sans: item.sans.join('\n'),
  });
  const refresh = useRefresh();
  async function renew(values: SourceValues) {
    const { version } = await put<Certificate>(`/v1/certificates/${item.id}`, sourceOf(values));
    await refresh('certificates', 'keys', 'versions');
    note(version === item.version ? 'This is already the current certificate' : 'Certificate renewed');
    onClose();
  }
  return (
    <FormDialog
      title={`Renew ${item.name}`}
      description={
        item.key_id === null
          ? 'Readers immediately get the new certificate, with the same id and name.'
          : 'Readers immediately get the new certificate, with the same id and name. It must match its private key in this vault, unless you include another private key.'
      }
      form={form}
      action="Renew certificate"
      onSubmit={renew}
      onClose={onClose}
    >
      <SourceFields
        form={form}
        selfSigned={item.key_id === null ? null : 'Self-signed with its private key'}
      />
    </FormDialog>
  );
}
