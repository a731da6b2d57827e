/**
 * Parts that are loaded only when they are needed: a dialog when it is first opened. All of them are also loaded as soon
 * as the person first moves the pointer or presses a key, so that none has to be waited for, and so that a dialog such as
 * the one that renews a session doesn't depend on a service that may have been replaced in the meantime.
 */
import { type ComponentType, lazy, Suspense, useRef } from 'react';

type Load<P> = () => Promise<{ readonly default: ComponentType<P> }>;

const waiting = new Set<() => Promise<unknown>>();
const firstSigns = ['pointermove', 'pointerdown', 'keydown'] as const;

/** Loads a part with the others; a part that fails here is asked for again when it is opened. */
export function warm(load: () => Promise<unknown>): void {
  if (waiting.size === 0)
    for (const sign of firstSigns) window.addEventListener(sign, loadAll, { once: true });
  waiting.add(load);
}

function loadAll(): void {
  for (const sign of firstSigns) window.removeEventListener(sign, loadAll);
  for (const load of waiting) void load().catch(() => undefined);
  waiting.clear();
}

/** A component that is absent until its `open` is first true, and stays from then on, so that it can close gracefully. */
export function whenOpened<P extends { readonly open: boolean }>(load: Load<P>): ComponentType<P> {
  warm(load);
  const Loaded = lazy(load);
  return function WhenOpened(props: P) {
    const wasOpened = useRef(false);
    wasOpened.current ||= props.open;
    if (!wasOpened.current) return null;
    return (
      <Suspense>
        <Loaded {...props} />
      </Suspense>
    );
  };
}
