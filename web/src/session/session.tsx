/** Who is signed in, and what they may do. Pages use this to decide what to show; the service decides what is allowed. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext } from 'react';
import { useParams } from 'wouter';
import { get } from '../api/client.ts';
import { type AuthState, type SignedIn, vaultPermissions } from '../api/types.ts';

export function useAuthState() {
  return useQuery({
    queryKey: ['auth-state'],
    queryFn: () => get<AuthState>('/auth/state'),
    staleTime: 60_000,
  });
}

/** Returns a function that reads the state again after signing in or out. */
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

/** A vault's id, or the organization as a whole. */
type Where = string | 'organization';

/**
 * Returns whether the person may perform an action: in the given vault, by default the one in the address, or in any
 * vault if there is none. Pass `organization` for actions on the organization as a whole.
 */
export function useMay(): (action: string, where?: Where) => boolean {
  const { signedIn } = useSession();
  const { vault } = useParams<{ vault?: string }>();
  return (action, where = vault) => {
    if ((signedIn.permissions as readonly string[]).includes(action)) return true;
    if (where === 'organization' || !Object.hasOwn(vaultPermissions, action)) return false;
    const gives: readonly string[] = vaultPermissions[action as keyof typeof vaultPermissions];
    const isThere = (id: string) => where === undefined || id === where;
    return signedIn.grants.some(({ vault_id, role }) => isThere(vault_id) && gives.includes(role));
  };
}
