/** What is typed between opening the search and its field having the focus goes into the field. */
import { useEffect } from 'react';

type Change = (text: string) => string;

export function useEarlyTyping(open: boolean, onType: (change: Change) => void): void {
  useEffect(() => {
    if (!open) return;
    const listen = (event: KeyboardEvent) => {
      const change = event.ctrlKey || event.metaKey || event.altKey ? undefined : changeBy(event.key);
      if (change === undefined || document.activeElement?.matches('[data-palette]')) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      onType(change);
    };
    window.addEventListener('keydown', listen, true);
    return () => window.removeEventListener('keydown', listen, true);
  }, [open, onType]);
}

function changeBy(key: string): Change | undefined {
  if (key === 'Backspace') return text => text.slice(0, -1);
  return [...key].length === 1 ? text => text + key : undefined;
}
