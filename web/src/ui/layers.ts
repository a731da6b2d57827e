/** Notifies components that show a secret value when another layer opens over them: a dialog, a panel or the search. */
import { useEffect } from 'react';

const listeners = new Set<() => void>();

export function useLayer(open: boolean): void {
  useEffect(() => {
    if (open) for (const listener of [...listeners]) listener();
  }, [open]);
}

/** Calls the listener whenever a layer opens, until the returned function is called. */
export function onNextLayer(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
