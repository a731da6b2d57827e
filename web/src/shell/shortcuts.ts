/**
 * Keyboard shortcuts. Single-key shortcuts work only outside fields and dialogs, and can
 * be turned off by people who use speech input or press keys by accident.
 */
import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { usePlaces } from './navigation.tsx';

export const storageName = 'strongroom-shortcuts';
/** How long to wait for the key after g, in milliseconds. */
const patience = 1_500;

export function areOn(): boolean {
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
