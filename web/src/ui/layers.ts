/** Tells who shows something secret that another layer has opened over it: a dialog, a panel or the search. */
import { useEffect } from 'react';

const listeners = new Set<() => void>();

export function useLayer(open: boolean): void {
  useEffect(() => {
    if (open) for (const listener of [...listeners]) listener();
  }, [open]);
}

/** Called when the next layer opens. */
export function onNextLayer(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
