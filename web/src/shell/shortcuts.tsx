/**
 * Keyboard shortcuts, and the dialog that lists them. Single-key shortcuts work only outside fields and dialogs, and can
 * be turned off by people who use speech input or press keys by accident.
 */
import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../ui/dialog.tsx';
import { Kbd, withKey } from '../ui/kbd.tsx';
import { usePlaces } from './navigation.tsx';

const storageName = 'strongroom-shortcuts';
/** How long to wait for the key after g, in milliseconds. */
const patience = 1_500;

function areOn(): boolean {
  return window.localStorage.getItem(storageName) !== 'off';
}

interface Openers {
  readonly search: () => void;
  readonly sheet: () => void;
}

export function useShortcuts({ search, sheet }: Openers): void {
  const [, go] = useLocation();
  const places = usePlaces().flatMap(([, all]) => all);
  const waitingSince = useRef(Number.NEGATIVE_INFINITY);
  const listener = useRef<(event: KeyboardEvent) => void>(() => undefined);
  const alone: Readonly<Record<string, () => void>> = {
    g: () => {
      waitingSince.current = performance.now();
    },
    n: () => document.querySelector<HTMLElement>('main [data-create]')?.click(),
    '/': () => document.querySelector<HTMLElement>('main [data-search]')?.focus(),
    '?': sheet,
  };
  function meantBy(event: KeyboardEvent): (() => void) | undefined {
    const key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey) return key === 'k' ? search : undefined;
    if (event.altKey || !areOn() || isBusy(event)) return undefined;
    const isAfterG = performance.now() - waitingSince.current < patience;
    waitingSince.current = Number.NEGATIVE_INFINITY;
    const place = isAfterG ? places.find(one => one.key === key) : undefined;
    return place ? () => go(place.href) : alone[key];
  }
  listener.current = event => {
    const meant = meantBy(event);
    if (meant === undefined) return;
    event.preventDefault();
    meant();
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent) => listener.current(event);
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, []);
}

/** Whether the person is typing, or a dialog or menu is open. */
function isBusy({ target }: KeyboardEvent): boolean {
  const isTyping = target instanceof Element && target.closest('input, textarea, select, [contenteditable]');
  return (
    Boolean(isTyping) || document.querySelector('[role=dialog], [role=menu], [role=alertdialog]') !== null
  );
}

export function ShortcutSheet({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [on, setOn] = useState(areOn);
  const places = usePlaces().flatMap(([, all]) => all);
  function turn(next: boolean) {
    if (next) window.localStorage.removeItem(storageName);
    else window.localStorage.setItem(storageName, 'off');
    setOn(next);
  }
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard shortcuts" keep={false}>
      <div className="grid gap-x-10 gap-y-5 sm:grid-cols-2">
        <Keys
          title="Anywhere"
          all={[
            ['Search everything', `${withKey} K`],
            ['Search this list', '/'],
            ['Create a new entry on this page', 'N'],
            ['Show keyboard shortcuts', '?'],
            ['Close dialog or panel', 'Esc'],
          ]}
        />
        <Keys title="Go to" all={places.map(({ label, key }) => [label, `G ${key.toUpperCase()}`])} />
      </div>
      <label className="mt-5 flex cursor-pointer items-start gap-2.5 border-t pt-4">
        <input
          type="checkbox"
          className="mt-0.5"
          checked={on}
          onChange={event => turn(event.target.checked)}
        />
        <span>
          Single-key shortcuts
          <span className="block text-xs text-muted">
            Turn these off if you use speech input or press keys by accident. {withKey} K keeps working.
          </span>
        </span>
      </label>
    </Dialog>
  );
}

function Keys({ title, all }: { title: string; all: readonly (readonly [string, string])[] }) {
  return (
    <section>
      <h3 className="mb-1 text-xs font-medium text-muted">{title}</h3>
      <dl>
        {all.map(([what, keys]) => (
          <div key={what} className="flex min-h-7 items-center justify-between gap-4">
            <dt>{what}</dt>
            <dd>
              <span className="sr-only">{keys}</span>
              <Kbd keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
