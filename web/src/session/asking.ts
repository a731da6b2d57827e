/** A dialog that a request waits for: the request continues when the person has answered. */
import { useEffect, useRef, useState } from 'react';
import type { Ask } from '../api/client.ts';

interface Waiting {
  readonly promise: Promise<boolean>;
  readonly settle: (answered: boolean) => void;
}

/** `register` receives the function that asks. Requests that ask at the same time share one answer. */
export function useAsking(register: (ask: Ask | null) => void) {
  const [asking, setAsking] = useState(false);
  const waiting = useRef<Waiting | null>(null);
  useEffect(() => {
    register(() => {
      waiting.current ??= newWaiting();
      setAsking(true);
      return waiting.current.promise;
    });
    return () => register(null);
  }, [register]);
  function settle(answered: boolean) {
    waiting.current?.settle(answered);
    waiting.current = null;
    setAsking(false);
  }
  return { asking, settle };
}

function newWaiting(): Waiting {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  return { promise, settle: resolve };
}
