/** A modal dialog and a side panel. Both trap the focus, close on Escape and restore the focus. */
import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { buttonClass } from './button.tsx';
import { useLayer } from './layers.ts';
import { PanelPlaceContext } from './panel-place.ts';
import { Problem } from './problem.tsx';
import { AskToDiscard, useUnsaved } from './unsaved.tsx';

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly children: ReactNode;
  readonly wide?: boolean;
  /** Stays open when the person clicks outside, so that input is not lost. */
  readonly keep?: boolean;
}

/** Selects the initial focus: the first editable field, rather than the close button. */
export const firstToFill = 'form :is(input:not([readonly], [type=hidden]), textarea, select)';

/** Has the same z-index as the layers, so that the upper of two layers dims the lower one. */
const backdrop = 'enter fixed inset-0 z-50 bg-shade';

export function Dialog({
  open,
  onClose,
  title,
  description,
  children,
  wide = false,
  keep = true,
}: DialogProps) {
  const popup = useRef<HTMLDivElement>(null);
  const unsaved = useUnsaved(onClose);
  useLayer(open);
  return (
    <Base.Root open={open} onOpenChange={next => !next && unsaved.leave()} disablePointerDismissal={keep}>
      <Base.Portal>
        <Base.Backdrop forceRender className={backdrop} />
        <Base.Viewport className="fixed inset-0 z-50 grid overflow-y-auto p-4 sm:place-items-center">
          <Base.Popup
            ref={popup}
            initialFocus={() => popup.current?.querySelector<HTMLElement>(firstToFill) ?? true}
            className={`popup enter my-auto w-full ${wide ? 'max-w-3xl' : 'max-w-lg'} justify-self-center data-ending-style:scale-98 data-starting-style:scale-98`}
          >
            <Head title={title} description={description} />
            <div className="px-4 pt-4 pb-5 sm:px-5" onInput={unsaved.note}>
              {children}
            </div>
            <AskToDiscard of={unsaved} />
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

export function SidePanel({ open, onClose, title, description, keep = false, children }: DialogProps) {
  const popup = useRef<HTMLDivElement>(null);
  const unsaved = useUnsaved(onClose);
  const [element, setElement] = useState<HTMLElement | null>(null);
  const [forms, setForms] = useState(0);
  const before = useRef<Element | null>(null);
  const take = useCallback(() => {
    before.current = document.activeElement;
    setForms(count => count + 1);
    popup.current?.scrollTo(0, 0);
    return () => setForms(count => count - 1);
  }, []);
  const place = useMemo(() => ({ element, take }), [element, take]);
  const isFilledIn = forms > 0;
  // Restores the focus after the panel's content is visible again: hidden elements can't be focused.
  useEffect(() => {
    if (!isFilledIn && before.current instanceof HTMLElement) before.current.focus();
  }, [isFilledIn]);
  useLayer(open);
  return (
    <Base.Root
      open={open}
      onOpenChange={next => !next && unsaved.leave()}
      disablePointerDismissal={keep || isFilledIn}
    >
      <Base.Portal>
        <Base.Backdrop forceRender className={backdrop} />
        <Base.Viewport className="fixed inset-0 z-50 flex justify-end">
          <Base.Popup
            ref={popup}
            initialFocus={() => popup.current?.querySelector<HTMLElement>(firstToFill) ?? popup.current}
            className="enter flex h-full w-full max-w-2xl flex-col overflow-y-auto border-l border-(--edge) bg-raised text-ink shadow-(--shadow-popup) outline-none data-ending-style:translate-x-10 data-starting-style:translate-x-10"
          >
            <Head title={title} description={description} />
            <div className="flex-1 px-4 pt-4 pb-8 sm:px-5" onInput={unsaved.note}>
              <PanelPlaceContext value={place}>
                <div ref={setElement} />
                <div hidden={isFilledIn}>{children}</div>
              </PanelPlaceContext>
            </div>
            <AskToDiscard of={unsaved} />
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

function Head({ title, description }: { title: ReactNode; description?: ReactNode }) {
  return (
    <div className="sticky top-0 z-20 flex items-center justify-between gap-4 rounded-t-xl border-b bg-raised px-4 py-3 sm:px-5">
      <div className="min-w-0">
        <Base.Title className="text-base font-semibold tracking-tight break-words">{title}</Base.Title>
        {description && (
          <Base.Description render={<div />} className="text-xs text-muted">
            {description}
          </Base.Description>
        )}
      </div>
      <Base.Close aria-label="Close" className={buttonClass({ look: 'quiet', size: 'icon' })}>
        <X className="size-4" aria-hidden />
      </Base.Close>
    </div>
  );
}

/** The buttons of a form in a dialog, with any error above them. */
export function DialogButtons({ problem, children }: { problem?: string; children: ReactNode }) {
  return (
    <div className="mt-1 flex flex-col gap-3">
      <Problem text={problem ?? ''} />
      <div className="flex flex-wrap justify-end gap-2">{children}</div>
    </div>
  );
}
