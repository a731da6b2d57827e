/** Creates a certificate signing request with a stored key, or with that of a certificate, for a certificate authority. */
import { FileSignature } from 'lucide-react';
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
import { linesOf } from '../../ui/lines.ts';
import { SubjectFields } from './subject-fields.tsx';

interface SigningRequestProps {
  readonly collection: 'keys' | 'certificates';
  readonly id: string;
  readonly subject?: string;
  readonly sans?: readonly string[];
}

export function SigningRequest({ collection, id, subject = '', sans = [] }: SigningRequestProps) {
  const [open, setOpen] = useState(false);
  const [pem, setPem] = useState('');
  const form = useForm({ subject, sans: sans.join('\n') });
  async function make(values: typeof form.values) {
    const body = { subject: values.subject, sans: linesOf(values.sans) };
    setPem((await post<{ pem: string }>(`/v1/${collection}/${id}/signing-request`, body)).pem);
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
