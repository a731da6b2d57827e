/** Forms, in a dialog or in place of a panel's content, and dialogs that show a credential once. */
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import type { Form } from '../api/form.ts';
import { Button } from './button.tsx';
import { Dialog, DialogButtons, firstToFill } from './dialog.tsx';
import { useLayer } from './layers.ts';
import { type PanelPlace, usePanelPlace } from './panel-place.ts';
import { TokenOnce } from './token-once.tsx';
import { AskToDiscard, useUnsaved } from './unsaved.tsx';

export interface FormDialogProps<T extends object> {
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

/** Opens over the page; inside a panel, replaces the panel's content, so that dialogs don't stack. */
export function FormDialog<T extends object>(props: FormDialogProps<T>) {
  const { title, description, wide = false, form, onSubmit, onClose } = props;
  const place = usePanelPlace();
  if (place !== null) return <FormInPanel {...props} place={place} />;
  return (
    <Dialog open onClose={onClose} title={title} description={description} wide={wide}>
      <form className="flex flex-col gap-4" onSubmit={form.submit(onSubmit, onClose)}>
        <FormParts {...props} />
      </form>
    </Dialog>
  );
}

function FormInPanel<T extends object>(props: FormDialogProps<T> & { place: PanelPlace }) {
  const { title, description, form, onSubmit, onClose, place } = props;
  const heading = useId();
  const around = useRef<HTMLDivElement>(null);
  const { take } = place;
  const unsaved = useUnsaved(onClose);
  useEffect(() => take(), [take]);
  useLayer(true);
  useEffect(() => around.current?.querySelector<HTMLElement>(firstToFill)?.focus(), []);
  if (place.element === null) return null;
  /** Closes the form but not the panel. A popover above it, such as a calendar, closes first. */
  function leave(event: KeyboardEvent) {
    if (event.key !== 'Escape' || !around.current?.contains(event.target as Node)) return;
    event.stopPropagation();
    unsaved.leave();
  }
  return createPortal(
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes it, as in every layer.
    <div ref={around} onKeyDown={leave} onInput={unsaved.note} className="flex flex-col gap-4">
      <div>
        <h3 id={heading} className="text-sm font-semibold break-words">
          {title}
        </h3>
        {description && <div className="text-xs text-muted">{description}</div>}
      </div>
      <form
        aria-labelledby={heading}
        className="flex flex-col gap-4"
        onSubmit={form.submit(onSubmit, onClose)}
      >
        <FormParts {...props} />
      </form>
      <AskToDiscard of={unsaved} />
    </div>,
    place.element,
  );
}

function FormParts<T extends object>({ form, action, onClose, children }: FormDialogProps<T>) {
  return (
    <>
      {children}
      <FormButtons form={form} action={action} onCancel={onClose} />
    </>
  );
}

interface FormButtonsProps<T extends object> {
  readonly form: Form<T>;
  readonly action: string;
  readonly onCancel: () => void;
}

export function FormButtons<T extends object>({ form, action, onCancel }: FormButtonsProps<T>) {
  return (
    <DialogButtons problem={form.problem}>
      <Button onClick={onCancel}>Cancel</Button>
      <Button type="submit" look="primary" busy={form.busy}>
        {action}
      </Button>
    </DialogButtons>
  );
}

interface OnceDialogProps {
  readonly title: string;
  readonly description?: string;
  readonly wide?: boolean;
  readonly token: string;
  /** The name of the token in a sentence: `signing secret`. */
  readonly what: string;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}

/** Shows a credential once. Closing without copying it asks for confirmation. */
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
            <p>You haven’t copied the {what}. If you close this now, it can’t be shown again.</p>
            <div className="flex flex-wrap justify-end gap-2">
              <Button onClick={() => setLeaving(false)}>Keep open</Button>
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
