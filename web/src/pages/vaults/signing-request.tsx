/** Creates a certificate signing request with a stored key, for a certificate authority. */
import { FileSignature } from 'lucide-react';
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
import { linesOf } from '../../ui/lines.ts';
import { SubjectFields } from './subject-fields.tsx';

export function SigningRequest({ keyId }: { keyId: string }) {
  const [open, setOpen] = useState(false);
  const [pem, setPem] = useState('');
  const form = useForm({ subject: '', sans: '' });
  async function make({ subject, sans }: typeof form.values) {
    setPem(
      (await post<{ pem: string }>(`/v1/keys/${keyId}/signing-request`, { subject, sans: linesOf(sans) }))
        .pem,
    );
  }
  return (
    <>
      <Button size="small" onClick={() => setOpen(true)}>
        <FileSignature className="size-4" aria-hidden /> Signing request
      </Button>
      <Dialog open={open} onClose={() => setOpen(false)} title="Certificate signing request">
        <form className="flex flex-col gap-4" onSubmit={form.submit(make)}>
          <SubjectFields form={form} />
          {pem !== '' && <CodeBlock text={pem} label="signing request" />}
          <DialogButtons problem={form.problem}>
            <Button onClick={() => setOpen(false)}>Close</Button>
            <Button type="submit" look="primary" busy={form.busy}>
              Create
            </Button>
          </DialogButtons>
        </form>
      </Dialog>
    </>
  );
}
