/** A button that asks for confirmation before an action. Its dialog is loaded when it is first needed. */
import { type ReactNode, useState } from 'react';
import { Button, type ButtonLook } from './button.tsx';
import type { Confirmation } from './confirm-dialog.tsx';
import { whenOpened } from './lazily.tsx';

const ConfirmDialog = whenOpened(() => import('./confirm-dialog.tsx'));

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
