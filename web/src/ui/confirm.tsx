/** Asks for confirmation before an action, and says what it will do. */
import { type ReactNode, useState } from 'react';
import { SentForReview, sentence } from '../api/client.ts';
import { Button, type ButtonLook } from './button.tsx';
import { Dialog, DialogButtons } from './dialog.tsx';
import { Field } from './field.tsx';

interface ConfirmProps extends ButtonLook {
  readonly label: ReactNode;
  readonly title: string;
  readonly text: ReactNode;
  readonly action: string;
  readonly onConfirm: () => Promise<unknown>;
  readonly name?: string;
  /** The text that the person must type to confirm an action that is hard to undo. */
  readonly typed?: string;
}

export function ConfirmButton({
  label,
  title,
  text,
  action,
  onConfirm,
  name,
  typed,
  look = 'danger',
  size,
}: ConfirmProps) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const [written, setWritten] = useState('');
  async function run() {
    setBusy(true);
    setProblem('');
    try {
      await onConfirm();
      setOpen(false);
    } catch (error) {
      if (error instanceof SentForReview) setOpen(false);
      else setProblem(sentence(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <>
      <Button look={look} size={size} aria-label={name} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog open={open} onClose={() => setOpen(false)} title={title} keep={false}>
        <div className="text-muted">{text}</div>
        {typed !== undefined && (
          <div className="mt-4">
            <Field label={`Type “${typed}” to confirm`}>
              {ids => (
                <input
                  {...ids}
                  className="control"
                  autoComplete="off"
                  value={written}
                  onChange={event => setWritten(event.target.value)}
                />
              )}
            </Field>
          </div>
        )}
        <div className="mt-5">
          <DialogButtons problem={problem}>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button
              look="destroy"
              busy={busy}
              disabled={typed !== undefined && written.trim() !== typed}
              onClick={run}
            >
              {action}
            </Button>
          </DialogButtons>
        </div>
      </Dialog>
    </>
  );
}
