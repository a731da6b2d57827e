/**
 * The calls that wait for an approval, for an open dashboard: it says which it knows, and is answered once there are
 * others. Nothing is asked of the database meanwhile. Who is asking is judged before each answer, and as soon as anything
 * that they rest on changes. Bounded for each session and over all; past the bounds one is answered at once.
 */
import { hash } from 'node:crypto';
import type { Caller } from '../../access/caller.ts';
import { iso } from '../../contract/text.ts';
import type { WaitingApprovals } from '../../contract/waiting-approvals.ts';
import { ChangeWaits } from '../kernel/change-waits.ts';
import type { Parts } from '../kernel/parts.ts';
import { approvalsTouch } from './approval-records.ts';
import type { Approvals } from './approvals.ts';

/** Whoever has the dashboard open. */
export interface Watcher {
  readonly caller: Caller;
  readonly sessionId: string;
  /** Who they are now; refuses whoever is not signed in any more. */
  readonly renew: () => Promise<Caller>;
  /** They don't wait any longer. */
  readonly gone: AbortSignal;
}

export interface ApprovalWatch {
  /** What waits, at once or, where that is what they know, once it is something else; after 25 seconds in any case. */
  next(watcher: Watcher, known: string | undefined): Promise<WaitingApprovals>;
  /** Answers everybody who waits, and lets nobody wait from now on. */
  answerAll(): void;
}

type Found = Pick<WaitingApprovals, 'data' | 'total' | 'version'>;

/** In milliseconds; less than any proxy waits for an answer. */
const longestHold = 25_000;
/** A browser has six connections to a service, for all of its pages together. */
const mostOfSession = 3;
/** Of the requests that may be with the management plane at a time, a quarter. */
const mostHeld = 500;
/** By whatever clock: nobody looks for what has expired more often than this. */
const shortestWait = 50;
const everything = { page: 1, limit: 100 };

export function approvalWatchWith(
  { store, now }: Pick<Parts, 'store' | 'now'>,
  approvals: Pick<Approvals, 'list'>,
): ApprovalWatch {
  const waits = new ChangeWaits(store);
  const places = new Places();
  let isStopping = false;

  async function look(caller: Caller): Promise<Found> {
    const { data, pagination } = await approvals.list(caller, everything);
    const { total } = pagination;
    const ids = data.map(({ id }) => id);
    const version = hash('sha256', JSON.stringify([total, ids]), 'base64url').slice(0, 22);
    return { data: [...data], total, version };
  }

  /** Until the first of them expires; null where there is none. */
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

  /** Null once it may be something else. Whoever begins to wait before they look misses nothing in between. */
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
    next: async (watcher, known) => {
      const answered = (found: Found, held = true) => ({ ...found, held, answered_at: iso(now()) });
      if (known === undefined) return answered(await look(watcher.caller));
      const leave = places.take(watcher.sessionId);
      if (leave === null) return answered(await look(watcher.caller), false);
      return answered(await hold(watcher, known).finally(leave));
    },

    answerAll: () => {
      isStopping = true;
      waits.wakeAll();
    },
  };
}

/** For those who wait. */
class Places {
  readonly #taken = new Map<string, number>();
  #all = 0;

  /** Null where there is none left; else how it is left. */
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
