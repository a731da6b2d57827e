/** Shows the messages of `toast.tsx`. Each goes away by itself, later if it offers to undo something. */
import { Toast } from '@base-ui/react/toast';
import { X } from 'lucide-react';
import { useEffect } from 'react';
import { buttonClass } from './button.tsx';
import { type Note, showNotes } from './toast.tsx';

const manager = Toast.createToastManager();

function show({ title, bad, undo }: Note): void {
  manager.add({
    title,
    type: bad ? 'bad' : 'good',
    timeout: undo ? 10_000 : 4_000,
    ...(undo ? { actionProps: { children: 'Undo', onClick: undo } } : {}),
  });
}

export default function ShownToasts() {
  return (
    <Toast.Provider toastManager={manager} limit={3}>
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-4 z-60 flex w-[calc(100vw-2rem)] flex-col gap-2 sm:w-88">
          <Notes />
        </Toast.Viewport>
      </Toast.Portal>
      <Ready />
    </Toast.Provider>
  );
}

/** The provider must be listening before the first message is added. */
function Ready() {
  useEffect(() => {
    const later = setTimeout(() => showNotes(show));
    return () => clearTimeout(later);
  }, []);
  return null;
}

function Notes() {
  const { toasts } = Toast.useToastManager();
  return toasts.map(toast => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className="popup enter data-ending-style:translate-y-2 data-starting-style:translate-y-2"
    >
      <Toast.Content className="flex items-center gap-3 py-1.5 pr-1.5 pl-3.5">
        <span className={`size-2 shrink-0 rounded-full ${toast.type === 'bad' ? 'bg-bad' : 'bg-good'}`} />
        <Toast.Title className="min-w-0 flex-1 text-sm font-medium break-words" render={<p />} />
        {toast.actionProps && <Toast.Action className={buttonClass({ size: 'small' })} />}
        <Toast.Close aria-label="Close" className={buttonClass({ look: 'quiet', size: 'icon' })}>
          <X className="size-4" aria-hidden />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ));
}
