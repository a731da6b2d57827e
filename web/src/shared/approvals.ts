/**
 * Calls of agents that wait for a person. One place follows them while somebody is there: its request is held by the
 * service until other calls wait. A page that nobody touched for an hour asks no more, because that would keep its
 * session alive; nor does one that nobody sees, unless the person is told outside of it.
 */
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { ApiError, get, query } from '../api/client.ts';
import { Presence } from '../api/presence.ts';
import type { WaitingApprovals } from '../api/types.ts';
import { useMay } from '../session/session.tsx';

const path = '/auth/approvals/waiting';
const queryKey = ['approvals', 'waiting'];
const queryFn = () => get<WaitingApprovals>(path);
/** Where the service holds no more requests. */
const betweenQuestions = 700;
const shortestPause = 500;
const longestPause = 30_000;

/** What is known of them; kept up to date by `useWaitingNow`. */
export function useWaiting() {
  const may = useMay();
  return useQuery({ queryKey, queryFn, enabled: may('approvals:read') });
}

/** For the one place that follows them. */
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
      // Whoever went away gave the request up: that is no failure, and they are waited for above.
      if (presence.signal.aborted) continue;
      if (isForbidden(error)) void client.invalidateQueries({ queryKey: ['auth-state'] });
      await presence.pause(pauseAfter(++failures));
    }
  }
}

/** The first answer is the one that the page asks for in any case. */
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

/** What the person may do has changed since the page asked for it. */
function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

/** Growing, and another one on each page, so that those of many do not come all at once. */
function pauseAfter(failures: number): number {
  const pause = Math.min(longestPause, shortestPause * 2 ** (failures - 1));
  return pause * (0.5 + Math.random() / 2);
}
