/** Reveals a value. The service records every reveal; the value is kept only by the component that asked for it. */
import { useCallback, useEffect, useState } from 'react';
import { post } from '../../api/client.ts';
import type { RevealedKey, RevealedSecret } from '../../api/types.ts';
import { onNextLayer } from '../../ui/layers.ts';

export const shownForSeconds = 30;

export async function revealSecret(id: string, version?: number): Promise<string> {
  const body = version === undefined ? {} : { version };
  return (await post<RevealedSecret>(`/v1/secrets/${id}/reveal`, body)).value;
}

/** The text of a template, or the value of any other secret: what a person writes. */
export async function revealText(id: string, version?: number): Promise<string> {
  const body = version === undefined ? { resolve: false } : { version, resolve: false };
  return (await post<RevealedSecret>(`/v1/secrets/${id}/reveal`, body)).value;
}

export async function revealKey(id: string): Promise<string> {
  return (await post<RevealedKey>(`/v1/keys/${id}/reveal`)).pem;
}

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
