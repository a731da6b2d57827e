/** A button that asks for confirmation before an action. Its dialog is loaded when it is first needed. */
import { type ReactNode, useState } from 'react';
import { Button, type ButtonLook } from './button.tsx';
import { whenOpened } from './lazily.tsx';

const ConfirmDialog = whenOpened(() => import('./confirm-dialog.tsx'));

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

interface ConfirmProps extends ButtonLook, Confirmation {
  readonly label: ReactNode;
  readonly name?: string;
}

export function ConfirmButton({ label, name, look = 'danger', size, ...confirmation }: ConfirmProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button look={look} size={size} aria-label={name} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <ConfirmDialog open={open} onClose={() => setOpen(false)} {...confirmation} />
    </>
  );
}
