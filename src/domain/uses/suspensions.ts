/**
 * Access keys that may not use a secret for a while, because their calls, or the answers to them, contained parts of its
 * value. One that asks for a part and is refused learns that it is one; that is allowed a few times, so that nobody can
 * guess a value from there. It ends with the week, with a new version of the secret, and with any change of its use rules.
 * Counted over all replicas: another process knows of it at the latest with the next such call.
 */
import type { Reader } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { Store } from '../../store/store.ts';
import { derivedId } from './derived-id.ts';

/** With so many, it is suspended. */
const most = 3;
/** In seconds. */
const week = 7 * 24 * 60 * 60;
/** Of those that are remembered here; the others are looked up again. */
const mostKnown = 10_000;

/** What a suspension is about. */
export interface Suspect {
  readonly reader: Reader;
  readonly row: { readonly id: string; readonly version: number };
  readonly rules: readonly { readonly id: string; readonly revision: number }[];
}

export function suspensionsWith({ store, now }: { readonly store: Store; readonly now: () => number }) {
  const known = new Map<string, number>();

  function placeOf({ reader, row, rules }: Suspect): { subject: string; window: number; key: string } {
    const seen = rules.map(({ id, revision }) => `${id} ${revision}`).sort();
    const subject = derivedId('suspension', reader.givenBy, row.id, String(row.version), ...seen);
    // Its end: windows that are over are forgotten.
    const window = (Math.floor(now() / 1000 / week) + 1) * week;
    return { subject, window, key: `${subject} ${window}` };
  }

  function remember(key: string, count: number): number {
    if (known.size >= mostKnown) known.delete(known.keys().next().value!);
    known.set(key, count);
    return count;
  }

  return {
    isSuspended: async (suspect: Suspect): Promise<boolean> => {
      const { subject, window, key } = placeOf(suspect);
      return (known.get(key) ?? remember(key, await store.limits.taken(subject, window))) >= most;
    },

    /** A call or an answer contained parts of the value, or what looks like many guesses at one. */
    count: async (suspect: Suspect, parts: number): Promise<void> => {
      const { subject, window, key } = placeOf(suspect);
      remember(key, await store.limits.take(subject, window, Math.min(parts, most)));
    },
  };
}

/** To the caller the same, whether its call contained a part or it is suspended. */
export function refusedUse(because: 'value_in_request' | 'use_suspended'): Failure {
  return new Failure('FORBIDDEN', {
    message: 'Forbidden: calls must not contain the value or a part of it; the request log says more',
    because,
  });
}
