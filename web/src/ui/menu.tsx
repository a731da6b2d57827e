/** A button that opens a list of actions. */
import { Menu as Base } from '@base-ui/react/menu';
import { Ellipsis } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { buttonClass } from './button.tsx';

interface MenuProps {
  /** For a trigger without text. */
  readonly label?: string;
  readonly trigger?: ReactNode;
  readonly triggerClass?: string;
  /** Opens as soon as it is mounted. */
  readonly defaultOpen?: boolean;
  readonly children: ReactNode;
}

export function Menu({ label, trigger, triggerClass, defaultOpen = false, children }: MenuProps) {
  const button = useRef<HTMLButtonElement>(null);
  const [around, setAround] = useState<HTMLElement | null>(null);
  const [open, setOpen] = useState(false);
  // Determined when the menu opens: during the first render, the container may not exist yet.
  function change(next: boolean) {
    if (next)
      setAround(button.current?.closest<HTMLElement>('[role=dialog]') ?? document.getElementById('main'));
    setOpen(next);
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when mounted
  useEffect(() => {
    if (defaultOpen) change(true);
  }, []);
  return (
    <Base.Root open={open} onOpenChange={change}>
      <Base.Trigger
        ref={button}
        aria-label={label}
        className={triggerClass ?? buttonClass({ look: 'quiet', size: 'icon' })}
      >
        {trigger ?? <Ellipsis className="size-4" aria-hidden />}
      </Base.Trigger>
      {/* Content outside an open dialog is hidden from screen readers, so the menu goes inside it, or inside main. */}
      <Base.Portal container={around}>
        <Base.Positioner sideOffset={6} align="end" className="z-50">
          <Base.Popup className="popup enter grow min-w-44 p-1">{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

export function MenuItem({
  onClick,
  bad = false,
  children,
}: {
  onClick: () => void;
  bad?: boolean;
  children: ReactNode;
}) {
  return (
    <Base.Item
      onClick={onClick}
      className={`flex min-h-(--control-small) cursor-default items-center gap-2 rounded-lg px-2 outline-none data-highlighted:bg-hover ${bad ? 'text-bad' : ''}`}
    >
      {children}
    </Base.Item>
  );
}
