/** How routes that write what vaults contain take part in review: what they accept for it, and what they answer. */
import type { FastifyReply } from 'fastify';
import type { Caller } from '../../access/caller.ts';
import { resourceWrites } from '../../access/policy.ts';
import { check } from '../../contract/check.ts';
import { invalid } from '../../contract/errors.ts';
import { bypassQuery, type ProposalNotice } from '../../contract/proposals.ts';
import { noticeOf, ProposalMade } from '../../domain/resources/review.ts';

/** A route, as far as it matters here. */
interface Described {
  readonly method: string;
  readonly path: string;
  readonly needs: string | object;
  readonly body?: unknown;
}

interface Sent {
  readonly query: unknown;
  readonly body: unknown;
  /** Null if review is not to be left out. */
  readonly bypass: string | null;
}

/** A stage is an order of vaults, and contains nothing itself. */
const ofStages = /^\/v1\/stages(\/\{id\})?$/;

/** Whether a route may write something that a vault contains, or the vault itself. */
export function isReviewable({ method, path, needs }: Described): boolean {
  if (method === 'GET' || typeof needs === 'string' || ofStages.test(path)) return false;
  const actions: readonly string[] = Object.values(needs).flat();
  return resourceWrites.some(write => actions.includes(write));
}

/** Whether a request may ask to leave review out: a write, or the confirmation of one that was proposed before. */
export function takesBypass(route: Described): boolean {
  return isReviewable(route) || route.path === '/v1/proposals/{id}/confirm';
}

/** Takes what concerns review out of a request, before the rest is checked. */
export function withoutBypass(route: Described, query: unknown, body: unknown): Sent {
  const { bypass, reason, ...rest } = (query ?? {}) as Record<string, unknown>;
  if ((bypass === undefined && reason === undefined) || !takesBypass(route))
    return { query, body, bypass: null };
  const asked = check(bypassQuery, { bypass, reason });
  if (asked.bypass !== 'true') return { query: rest, body, bypass: null };
  const found = reasonIn(route, body);
  const why = asked.reason ?? check(bypassQuery, { reason: found.reason }).reason;
  if (why === undefined) throw invalid('reason', 'is required with bypass=true');
  return { query: rest, body: found.body, bypass: why };
}

/** The reason may be in the body. A route without a body accepts one for this. */
function reasonIn({ body: schema }: Described, body: unknown): { reason?: unknown; body: unknown } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { body };
  const { reason, ...others } = body as Record<string, unknown>;
  const isEmpty = schema === undefined && Object.keys(others).length === 0;
  return { reason, body: isEmpty ? undefined : others };
}

export function bypassing(caller: Caller, reason: string | null): Caller {
  return reason === null ? caller : { ...caller, bypass: reason };
}

/** Answers 202 if the work became a proposal. */
export async function orProposal(
  reply: FastifyReply,
  base: () => string,
  work: Promise<unknown>,
): Promise<unknown> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ProposalMade)) throw error;
    reply.code(202);
    return { proposal: noticeOf(error, base()) };
  }
}

export type NoticeOf = (made: ProposalMade) => ProposalNotice;
