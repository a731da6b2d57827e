/** Dialogs with a form, and dialogs that show a credential once. */
import { type ReactNode, useState } from 'react';
import type { Form } from '../api/form.ts';
import { Button } from './button.tsx';
import { Dialog, DialogButtons } from './dialog.tsx';
import { TokenOnce } from './token-once.tsx';

interface FormDialogProps<T extends object> {
  readonly title: string;
  readonly description?: ReactNode;
  readonly wide?: boolean;
  readonly form: Form<T>;
  readonly onSubmit: (values: T) => Promise<unknown>;
  readonly onClose: () => void;
  /** The label of the submit button. */
  readonly action: string;
  readonly children: ReactNode;
}

export function FormDialog<T extends object>(props: FormDialogProps<T>) {
  const { title, description, wide = false, form, onSubmit, onClose, action, children } = props;
  return (
    <Dialog open onClose={onClose} title={title} description={description} wide={wide}>
      <form className="flex flex-col gap-4" onSubmit={form.submit(onSubmit)}>
        {children}
        <DialogButtons problem={form.problem}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.busy}>
            {action}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

interface OnceDialogProps {
  readonly title: string;
  readonly description?: string;
  readonly wide?: boolean;
  readonly token: string;
  /** What the token is called in a sentence: `signing secret`. */
  readonly what: string;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** A credential that is shown once: closing without having copied it asks first. */
export function OnceDialog(props: OnceDialogProps) {
  const { title, description, wide = false, token, what, onClose, children } = props;
  const [copied, setCopied] = useState(false);
  const [leaving, setLeaving] = useState(false);
  const leave = () => (copied ? onClose() : setLeaving(true));
  return (
    <Dialog open onClose={leave} title={title} description={description} wide={wide}>
      <div className="flex flex-col gap-4">
        <TokenOnce token={token} what={what} copied={copied} onCopied={() => setCopied(true)} />
        {children}
        {leaving ? (
          <div role="alert" className="flex flex-col gap-3 rounded-lg bg-bad-soft px-3 py-2.5 text-bad">
            <p>You have not copied the {what}. If you close this now, nobody can see it again.</p>
            <div className="flex flex-wrap justify-end gap-2">
              <Button onClick={() => setLeaving(false)}>Keep it open</Button>
              <Button look="destroy" onClick={onClose}>
                Close anyway
              </Button>
            </div>
          </div>
        ) : (
          <DialogButtons>
            <Button look="primary" onClick={onClose}>
              I have copied it
            </Button>
          </DialogButtons>
        )}
      </div>
    </Dialog>
  );
}
