/** Who is signed in and what they can do. Pages ask here what to show; the service decides what is allowed. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import { get } from '../api/client.ts';
import type { AuthState, SignedIn } from '../api/types.ts';

export function useAuthState() {
  return useQuery({
    queryKey: ['auth-state'],
    queryFn: () => get<AuthState>('/auth/state'),
    staleTime: 60_000,
  });
}

/** Reads the state again, after signing in or out. */
export function useRefreshState() {
  const client = useQueryClient();
  return async () => {
    await client.fetchQuery({
      queryKey: ['auth-state'],
      queryFn: () => get<AuthState>('/auth/state'),
      staleTime: 0,
    });
  };
}

interface Session {
  readonly state: AuthState;
  readonly signedIn: SignedIn;
}

const SessionContext = createContext<Session | null>(null);

export function SessionProvider({
  state,
  signedIn,
  children,
}: {
  state: AuthState;
  signedIn: SignedIn;
  children: ReactNode;
}) {
  return <SessionContext value={{ state, signedIn }}>{children}</SessionContext>;
}

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('This page requires a session');
  return session;
}

export function useMay(): (action: string) => boolean {
  const { signedIn } = useSession();
  return action => (signedIn.permissions as readonly string[]).includes(action);
}
