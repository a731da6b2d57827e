/**
 * The plan's limit on an organization's requests, in one-minute windows. They are counted in the store, so that the
 * limit is exact across any number of replicas. Headers report how many requests remain.
 */
import type { FastifyReply } from 'fastify';
import { Failure } from '../../contract/errors.ts';
import { rateWindowAt } from '../../contract/rate-window.ts';

/** Adds requests of a subject to the window that starts at this second, and returns the new total. */
export type CountRequests = (subjectId: string, windowStart: number, requests: number) => Promise<number>;

interface PlanLimitParts {
  readonly count: CountRequests;
  /** Requests per minute, or null if unlimited. */
  readonly limitOf: (organizationId: string) => Promise<number | null>;
  readonly now: () => number;
}

type TakeRequest = (organizationId: string, reply: FastifyReply) => Promise<void>;

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
