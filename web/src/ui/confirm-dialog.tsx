/** Says what an action will do, and performs it when the person confirms. A failure is shown, and the dialog stays. */
import { type ReactNode, useState } from 'react';
import { SentForReview, sentence } from '../api/client.ts';
import { Button, type ButtonLook } from './button.tsx';
import { Dialog, DialogButtons } from './dialog.tsx';
import { Field } from './field.tsx';

export interface Confirmation {
  readonly title: string;
  readonly text: ReactNode;
  readonly action: string;
  readonly onConfirm: () => Promise<unknown>;
  /** The text that the person must type to confirm an action that is hard to undo. */
  readonly typed?: string;
  /** Of the button that confirms; red unless the action can be undone. */
  readonly confirmLook?: ButtonLook['look'];
}

interface ConfirmDialogProps extends Confirmation {
  readonly open: boolean;
  readonly onClose: () => void;
}

export default function ConfirmDialog({
  open,
  onClose,
  title,
  text,
  action,
  onConfirm,
  typed,
  confirmLook = 'destroy',
}: ConfirmDialogProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const [written, setWritten] = useState('');
  async function run() {
    setBusy(true);
    setProblem('');
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      if (error instanceof SentForReview) onClose();
      else setProblem(sentence(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <Dialog open={open} onClose={onClose} title={title} keep={false}>
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
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look={confirmLook}
            busy={busy}
            disabled={typed !== undefined && written.trim() !== typed}
            onClick={run}
          >
            {action}
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}
