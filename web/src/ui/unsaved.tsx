/** Asks before a key or a click throws away what was typed into a form. Its own Cancel button needs no question. */
import { type FormEvent, useRef, useState } from 'react';
import { Button } from './button.tsx';

export interface Unsaved {
  /** Put around the form: notes what is typed into it. */
  readonly note: (event: FormEvent) => void;
  /** Closes at once, or asks. */
  readonly leave: () => void;
  readonly asking: boolean;
  readonly keep: () => void;
  readonly discard: () => void;
}

export function useUnsaved(onClose: () => void): Unsaved {
  const typedIn = useRef<HTMLFormElement | null>(null);
  const [asking, setAsking] = useState(false);
  const keep = () => setAsking(false);
  return {
    note: event => {
      // A password that confirms something is not worth a question.
      if ((event.target as HTMLInputElement).type === 'password') return;
      const form = (event.target as Element).closest('form');
      if (form !== null) typedIn.current = form;
    },
    // A form that was sent is no longer part of the page.
    leave: () => (typedIn.current?.isConnected === true ? setAsking(true) : onClose()),
    asking,
    keep,
    discard: () => {
      typedIn.current = null;
      setAsking(false);
      onClose();
    },
  };
}

export function AskToDiscard({ of: { asking, keep, discard } }: { of: Unsaved }) {
  if (!asking) return null;
  return (
    <div
      role="alert"
      className="sticky bottom-0 z-20 flex flex-wrap items-center justify-between gap-2 rounded-b-xl border-t bg-raised px-4 py-3 sm:px-5"
    >
      <span className="font-medium">What you typed is not saved.</span>
      <span className="flex gap-2">
        <Button size="small" onClick={discard}>
          Discard
        </Button>
        <Button size="small" look="primary" ref={button => button?.focus()} onClick={keep}>
          Keep editing
        </Button>
      </span>
    </div>
  );
}
