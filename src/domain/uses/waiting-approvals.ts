/**
 * The calls waiting for approval, for an open dashboard: it sends the version it knows, and gets an answer once that
 * changes. The database is not queried in the meantime. The caller is checked before each answer, and as soon as
 * anything that their authority rests on changes. Waiting requests are limited per session and in total; beyond the
 * limits, the answer comes immediately.
 */
import { hash } from 'node:crypto';
import type { Caller } from '../../access/caller.ts';
import { iso } from '../../contract/text.ts';
import type { WaitingApprovals } from '../../contract/uses.ts';
import { ChangeWaits } from '../kernel/change-waits.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Approvals } from './approval-decisions.ts';
import { approvalsTouch } from './approval-records.ts';

/** A person with an open dashboard. */
export interface Watcher {
  readonly caller: Caller;
  readonly sessionId: string;
  /** The caller as of now; refuses a person who is no longer signed in. */
  readonly renew: () => Promise<Caller>;
  /** Aborted when they no longer wait. */
  readonly gone: AbortSignal;
}

type Found = Pick<WaitingApprovals, 'data' | 'total' | 'version'>;

/** In milliseconds; less than proxies wait for a response. */
const longestHold = 25_000;
/** A browser has six connections to a service, shared by all its pages. */
const mostOfSession = 3;
/** A quarter of the requests that the management plane handles at a time. */
const mostHeld = 500;
/** In milliseconds. Limits how often expired requests are looked for, whatever the clock. */
const shortestWait = 50;
const everything = { page: 1, limit: 100 };

export function approvalWatchWith(
  { store, guard, now }: Pick<Parts, 'store' | 'guard' | 'now'>,
  approvals: Pick<Approvals, 'list'>,
) {
  const waits = new ChangeWaits(store);
  const places = new Places();
  let isStopping = false;

  async function look(caller: Caller): Promise<Found> {
    const { data, pagination } = await approvals.list(
      await guard.admit(caller, 'approvals:read'),
      everything,
    );
    const { total } = pagination;
    const ids = data.map(({ id }) => id);
    const version = hash('sha256', JSON.stringify([total, ids]), 'base64url').slice(0, 22);
    return { data: [...data], total, version };
  }

  /** Milliseconds until the first of them expires; null if there are none. */
  function nextExpiry({ data }: Found): number | null {
    if (data.length === 0) return null;
    const first = Math.min(...data.map(({ expires_at }) => Date.parse(expires_at)));
    return Math.max(shortestWait, first - now());
  }

  async function hold({ caller: first, renew, gone }: Watcher, known: string): Promise<Found> {
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(), longestHold);
    gone.addEventListener('abort', () => end.abort(), { once: true });
    try {
      for (let caller = first; ; caller = await renew()) {
        const found = await lookAndWait(caller, known, end.signal);
        if (found !== null) return found;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Null once the result may have changed. Beginning the wait before reading makes sure that no change is missed. */
  async function lookAndWait(caller: Caller, known: string, end: AbortSignal): Promise<Found | null> {
    const rests = caller.proof.rows.map(({ id }) => id);
    const wait = waits.begin([approvalsTouch(caller.organizationId), ...rests]);
    try {
      const found = await look(caller);
      if (found.version !== known || end.aborted || isStopping) return found;
      await wait.until(nextExpiry(found), end);
      return null;
    } finally {
      wait.end();
    }
  }

  return {
    /** The waiting calls: immediately or, if they are known, once they change, within 25 seconds. */
    next: async (watcher: Watcher, known: string | undefined): Promise<WaitingApprovals> => {
      const answered = (found: Found, held = true) => ({ ...found, held, answered_at: iso(now()) });
      if (known === undefined) return answered(await look(watcher.caller));
      const leave = places.take(watcher.sessionId);
      if (leave === null) return answered(await look(watcher.caller), false);
      return answered(await hold(watcher, known).finally(leave));
    },

    /** Answers all waiting requests, and lets no more wait from now on. */
    answerAll: (): void => {
      isStopping = true;
      waits.wakeAll();
    },
  };
}

/** The places for waiting requests. */
class Places {
  readonly #taken = new Map<string, number>();
  #all = 0;

  /** Takes a place and returns the function that frees it; null if there is none left. */
  take(sessionId: string): (() => void) | null {
    const own = this.#taken.get(sessionId) ?? 0;
    if (own >= mostOfSession || this.#all >= mostHeld) return null;
    this.#add(sessionId, 1);
    return () => this.#add(sessionId, -1);
  }

  #add(sessionId: string, change: 1 | -1): void {
    this.#all += change;
    const own = (this.#taken.get(sessionId) ?? 0) + change;
    if (own === 0) this.#taken.delete(sessionId);
    else this.#taken.set(sessionId, own);
  }
}
