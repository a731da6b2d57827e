/**
 * The plan's limit: requests of an organization in one-minute windows, counted in the store, so that exactly the
 * limit is allowed across any number of replicas. The headers tell callers how much is left.
 */
import type { FastifyReply } from 'fastify';
import { Failure } from '../../contract/errors.ts';
import { rateWindowAt } from '../../contract/rate-window.ts';

/** Counts requests of a subject in a window that starts at a second, and says how many there are now. */
export type CountRequests = (subjectId: string, windowStart: number, requests: number) => Promise<number>;

export interface PlanLimitParts {
  readonly count: CountRequests;
  /** Requests per minute, or null if unlimited. */
  readonly limitOf: (organizationId: string) => Promise<number | null>;
  readonly now: () => number;
}

export type TakeRequest = (organizationId: string, reply: FastifyReply) => Promise<void>;

export function planLimit({ count, limitOf, now }: PlanLimitParts): TakeRequest {
  return async (organizationId, reply) => {
    const limit = await limitOf(organizationId);
    if (limit === null) return;
    const { start, end, secondsLeft } = rateWindowAt(now());
    const taken = await count(organizationId, start, 1);
    reply.header('x-ratelimit-limit', limit);
    reply.header('x-ratelimit-remaining', Math.max(0, limit - taken));
    reply.header('x-ratelimit-reset', end);
    if (taken > limit) throw new Failure('RATE_LIMITED', { retryAfter: secondsLeft });
  };
}
