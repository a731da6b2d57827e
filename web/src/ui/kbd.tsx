/** Keyboard keys, as a visual hint. Hidden from screen readers. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <kbd aria-hidden className="inline-flex items-center gap-0.5 font-sans">
      {keys.split(' ').map(key => (
        <span
          key={key}
          className="grid h-4.5 min-w-4.5 place-items-center rounded border bg-surface px-1 text-2xs leading-none font-medium text-muted"
        >
          {key}
        </span>
      ))}
    </kbd>
  );
}

const isMac = navigator.platform.startsWith('Mac');

/** The modifier key for shortcuts on this platform. */
export const withKey = isMac ? '⌘' : 'Ctrl';
