/**
 * Agents' calls that wait for an approval. One component follows them by long polling while the page is in use: the
 * service holds its request until the list changes. Pages stop polling after an hour without input, because polling would
 * keep the session alive, and while they are hidden, unless notifications are allowed.
 */
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { ApiError, get, query } from '../api/client.ts';
import { Presence } from '../api/presence.ts';
import type { Proposal, RoleRequest, WaitingApprovals } from '../api/types.ts';
import { useList } from '../api/use.ts';
import { useMay, useSession } from '../session/session.tsx';

const path = '/auth/approvals/waiting';
const queryKey = ['approvals', 'waiting'];
const queryFn = () => get<WaitingApprovals>(path);
/** In milliseconds, when the service is not holding requests. */
const betweenQuestions = 700;
const shortestPause = 500;
const longestPause = 30_000;

/** The waiting calls as last read; `useWaitingNow` keeps them up to date. */
export function useWaiting() {
  const may = useMay();
  return useQuery({ queryKey, queryFn, enabled: may('approvals:read') });
}

/** Requests for a role, and writes to review, as far as the person may see them. */
export function useRequests(every: number | false = false) {
  const may = useMay();
  const page = { limit: 100 };
  const mayDecide = may('members:read', 'organization');
  const roles = useList<RoleRequest>('role-requests', page, { enabled: mayDecide, every });
  const proposals = useList<Proposal>('proposals', page, { enabled: may('proposals:read'), every });
  return { roles: roles.data?.data ?? [], proposals: proposals.data?.data ?? [] };
}

/** How much waits for this person: what they may decide, and did not ask for themselves. */
export function useWaitingCount(): number {
  const may = useMay();
  const { signedIn } = useSession();
  const calls = useWaiting().data?.total ?? 0;
  const { roles, proposals } = useRequests();
  const isMine = ({ member }: RoleRequest) => member.id === signedIn.member.id;
  const toGive = may('members:write', 'organization') ? roles.filter(one => !isMine(one)).length : 0;
  const isMeant = ({ own, state, vault_id }: Proposal) =>
    !own && state === 'pending' && may('proposals:write', vault_id);
  return calls + toGive + proposals.filter(isMeant).length;
}

/** Follows the waiting calls; used by one component only. */
export function useWaitingNow() {
  const client = useQueryClient();
  const mayRead = useMay()('approvals:read');
  useEffect(() => {
    if (!mayRead) return;
    const presence = new Presence();
    void follow(client, presence);
    return () => presence.leave();
  }, [client, mayRead]);
  return useWaiting();
}

async function follow(client: QueryClient, presence: Presence): Promise<void> {
  let known: string | undefined;
  for (let failures = 0; await presence.isThere(); ) {
    try {
      const found = await next(client, known, presence.signal);
      known = found.version;
      failures = 0;
      if (!found.held) await presence.pause(betweenQuestions);
    } catch (error) {
      // The request was aborted because the page is not in use. That is not a failure; the loop waits above.
      if (presence.signal.aborted) continue;
      if (isForbidden(error)) void client.invalidateQueries({ queryKey: ['auth-state'] });
      await presence.pause(pauseAfter(++failures));
    }
  }
}

/** The first request goes through the query cache, because the page makes it anyway. */
async function next(
  client: QueryClient,
  known: string | undefined,
  signal: AbortSignal,
): Promise<WaitingApprovals> {
  if (known === undefined) return client.fetchQuery({ queryKey, queryFn, staleTime: 0 });
  const found = await get<WaitingApprovals>(path + query({ known }), signal);
  if (found.version !== known) client.setQueryData(queryKey, found);
  return found;
}

/** The person's permissions have changed since the page was loaded. */
function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

/** Exponential backoff with jitter, so that many pages don't retry at the same time. */
function pauseAfter(failures: number): number {
  const pause = Math.min(longestPause, shortestPause * 2 ** (failures - 1));
  return pause * (0.5 + Math.random() / 2);
}
