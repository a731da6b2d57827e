/**
 * The plan's limit: requests of an organization in windows of a minute, counted in the store, so that exactly
 * the limit passes over however many replicas. The headers tell the caller where he stands.
 */
import type { FastifyReply } from 'fastify';
import { Failure } from '../contract/errors.ts';

const window = 60;

/** Counts requests of a subject in a window that starts at a second, and says how many there are now. */
export type CountRequests = (subjectId: string, windowStart: number, requests: number) => Promise<number>;

export interface PlanLimitParts {
  readonly count: CountRequests;
  /** Requests a minute, or null where unlimited. */
  readonly limitOf: (organizationId: string) => Promise<number | null>;
  readonly now: () => number;
}

export type TakeRequest = (organizationId: string, reply: FastifyReply) => Promise<void>;

export function planLimit({ count, limitOf, now }: PlanLimitParts): TakeRequest {
  return async (organizationId, reply) => {
    const limit = await limitOf(organizationId);
    if (limit === null) return;
    const seconds = Math.floor(now() / 1000);
    const start = seconds - (seconds % window);
    const taken = await count(organizationId, start, 1);
    reply.header('x-ratelimit-limit', limit);
    reply.header('x-ratelimit-remaining', Math.max(0, limit - taken));
    reply.header('x-ratelimit-reset', start + window);
    if (taken > limit) throw new Failure('RATE_LIMITED', { retryAfter: start + window - seconds });
  };
}
