/** When a delivery is retried, and when it is abandoned. */
import { type DisabledReason, testKind } from '../contract/names.ts';
import { iso } from '../contract/text.ts';
import type { Attempt } from '../contract/webhooks.ts';
import type { DeliveryOutcome, DueDelivery } from '../store/records/deliveries.ts';
import type { DeliveryResult } from './sender.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** The waits between attempts, about 24 hours in total. */
export const waits: readonly number[] = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
  8 * hour,
  8 * hour,
];
const spread = 0.2;
const longestRetryAfter = 24 * hour;
const mostAttemptsKept = 32;
const failingLimit = 72 * hour;

/** The result of an attempt, for the delivery and for the webhook. */
export interface Verdict {
  readonly outcome: DeliveryOutcome;
  readonly arrived: boolean;
  /** The receiver asked for no deliveries before this time. */
  readonly pauseUntil: number | null;
  readonly gone: boolean;
}

/** A wait with jitter, so that deliveries that failed together are not retried together. */
export function waitAfter(tries: number, random: () => number): number | null {
  const wait = waits[tries - 1];
  return wait === undefined ? null : Math.round(wait * (1 - spread + 2 * spread * random()));
}

export interface Tried {
  readonly result: DeliveryResult;
  readonly startedAt: number;
  readonly endedAt: number;
}

export function judge(delivery: DueDelivery, tried: Tried, random: () => number): Verdict {
  const { result, startedAt, endedAt: now } = tried;
  const { id, event } = delivery;
  const { status } = result;
  const tries = delivery.tries + 1;
  const attempts = withAttempt(delivery.attempts, result, startedAt);
  const finished = { id, tries, attempts, next_attempt_at: null, finished_at: now };
  const arrived = result.error === null && status !== null && status >= 200 && status < 300;
  if (arrived) {
    return { outcome: { ...finished, state: 'delivered' }, arrived, pauseUntil: null, gone: false };
  }
  const asked = retryAfter(result.retryAfter, now);
  const pauseUntil = asked !== null && (status === 429 || status === 503) ? now + asked : null;
  const gone = status === 410 && result.error === null;
  const wait = gone || event === testKind ? null : waitAfter(tries, random);
  const outcome: DeliveryOutcome =
    wait === null
      ? { ...finished, state: 'dead' }
      : {
          ...finished,
          state: 'pending',
          finished_at: null,
          next_attempt_at: now + Math.max(wait, asked ?? 0),
        };
  return { outcome, arrived, pauseUntil, gone };
}

/** Ends a delivery that must not be sent. */
export function refused(delivery: DueDelivery, reason: string, now: number): DeliveryOutcome {
  const result = { status: null, durationMs: 0, answer: '', error: reason, retryAfter: null };
  const { id, tries, attempts } = delivery;
  return {
    id,
    tries,
    state: 'dead',
    attempts: withAttempt(attempts, result, now),
    next_attempt_at: null,
    finished_at: now,
  };
}

export function disablingReason(
  gone: boolean,
  failingSince: number | null,
  now: number,
): DisabledReason | null {
  if (gone) return 'gone';
  return failingSince !== null && now - failingSince >= failingLimit ? 'failing' : null;
}

function withAttempt(before: string, result: DeliveryResult, at: number): string {
  const attempt: Attempt = {
    at: iso(at),
    status: result.status,
    duration_ms: result.durationMs,
    answer: result.answer,
    error: result.error ?? redirection(result.status),
  };
  const kept = (JSON.parse(before) as Attempt[]).slice(1 - mostAttemptsKept);
  return JSON.stringify([...kept, attempt]);
}

function redirection(status: number | null): string | null {
  return status !== null && status >= 300 && status < 400 ? 'redirects are not followed' : null;
}

/** Milliseconds from a header with seconds or a date; null if it is neither. */
function retryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  const wait = /^\d{1,9}$/.test(header) ? Number(header) * second : Date.parse(header) - now;
  return Number.isNaN(wait) || wait < 0 ? null : Math.min(wait, longestRetryAfter);
}
