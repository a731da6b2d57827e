/** Asking for a value. Each time is written down by the service; the answer is kept nowhere but by who asked. */
import { useCallback, useEffect, useState } from 'react';
import { post } from '../../api/client.ts';
import type { RevealedKey, RevealedSecret } from '../../api/types.ts';

export const shownForSeconds = 30;

export async function revealSecret(id: string, version?: number): Promise<string> {
  const body = version === undefined ? {} : { version };
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

/** Something that may be seen for 30 seconds, and is then forgotten. */
export function useShown<T>(): Shown<T> {
  const [value, setValue] = useState<T | null>(null);
  const [secondsLeft, setSecondsLeft] = useState(0);
  const hide = useCallback(() => setValue(null), []);
  useEffect(() => {
    if (value === null) return;
    const until = Date.now() + shownForSeconds * 1000;
    setSecondsLeft(shownForSeconds);
    const timer = setInterval(() => {
      const left = Math.ceil((until - Date.now()) / 1000);
      setSecondsLeft(left);
      if (left <= 0) setValue(null);
    }, 250);
    return () => clearInterval(timer);
  }, [value]);
  return { value, secondsLeft, show: setValue, hide };
}
