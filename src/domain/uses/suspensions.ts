/**
 * Suspends an access key from using a secret for a while, because its calls or their responses contained parts of the
 * value. A call that is refused for containing a part confirms that it is one. That is allowed only a few times, so
 * that a value can't be guessed this way. A suspension ends at the end of the week, with a new version of the secret,
 * and with any change to its use rules. Counts are shared by all replicas: another process learns of a suspension at
 * the latest with the next such call.
 */
import type { Reader } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { Parts } from '../kernel/parts.ts';
import { derivedId } from './derived-id.ts';

/** The number of parts at which a key is suspended. */
const most = 3;
/** In seconds. */
const week = 7 * 24 * 60 * 60;
/** The number of counts remembered here; others are read again. */
const mostKnown = 10_000;

/** What a suspension applies to. */
export interface Suspect {
  readonly reader: Reader;
  readonly row: { readonly id: string; readonly version: number };
  readonly rules: readonly { readonly id: string; readonly revision: number }[];
}

export function suspensionsWith({ store, now }: Pick<Parts, 'store' | 'now'>) {
  const known = new Map<string, number>();

  function placeOf({ reader, row, rules }: Suspect): { subject: string; window: number; key: string } {
    const seen = rules.map(({ id, revision }) => `${id} ${revision}`).sort();
    const subject = derivedId('suspension', reader.givenBy, row.id, String(row.version), ...seen);
    // Windows are named by their end, and forgotten after it.
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

    /** Counts a call or response that contained parts of the value, or what looks like many guesses at one. */
    count: async (suspect: Suspect, parts: number): Promise<void> => {
      const { subject, window, key } = placeOf(suspect);
      remember(key, await store.limits.take(subject, window, Math.min(parts, most)));
    },
  };
}

/** The caller gets the same refusal whether its call contained a part or it is suspended. */
export function refusedUse(because: 'value_in_request' | 'use_suspended'): Failure {
  return new Failure('FORBIDDEN', {
    message: 'Forbidden: calls must not contain the value or a part of it; see the request log',
    because,
  });
}
