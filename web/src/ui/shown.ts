/** A value that is shown for a while and then dropped. */
import { useCallback, useEffect, useState } from 'react';
import { onNextLayer } from './layers.ts';

export const shownForSeconds = 30;

export interface Shown<T> {
  readonly value: T | null;
  readonly secondsLeft: number;
  show(value: T): void;
  hide(): void;
}

/** Shows a value for 30 seconds, or until another layer opens over it, and then drops it. */
export function useShown<T>(): Shown<T> {
  const [value, setValue] = useState<T | null>(null);
  const [secondsLeft, setSecondsLeft] = useState(0);
  const hide = useCallback(() => setValue(null), []);
  useEffect(() => {
    if (value === null) return;
    const forget = onNextLayer(hide);
    const until = Date.now() + shownForSeconds * 1000;
    setSecondsLeft(shownForSeconds);
    const timer = setInterval(() => {
      const left = Math.ceil((until - Date.now()) / 1000);
      setSecondsLeft(left);
      if (left <= 0) setValue(null);
    }, 250);
    return () => {
      forget();
      clearInterval(timer);
    };
  }, [value, hide]);
  return { value, secondsLeft, show: setValue, hide };
}
