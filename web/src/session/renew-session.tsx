/**
 * Asks the person to sign in again when the session ends while they are working. The form behind the dialog keeps its
 * input, and the request that failed is sent again.
 */
import { useEffect } from 'react';
import { get, onSessionEnd } from '../api/client.ts';
import type { AuthState } from '../api/types.ts';
import { whenOpened } from '../ui/lazily.tsx';
import { useAsking } from './asking.ts';
import { useRefreshState, useSession } from './session.tsx';

const RenewDialog = whenOpened(() => import('./renew-dialog.tsx'));

export function RenewSession() {
  const { signedIn } = useSession();
  const { asking, settle } = useAsking(onSessionEnd);
  const refresh = useRefreshState();

  async function done() {
    settle(true);
    await refresh();
  }
  useSignInElsewhere(asking, signedIn.member.id, done);

  return <RenewDialog open={asking} onCancel={() => settle(false)} onDone={done} />;
}

/** Single sign-on opens another tab: when the person comes back, check whether it succeeded. */
function useSignInElsewhere(asking: boolean, memberId: string, done: () => Promise<void>) {
  useEffect(() => {
    if (!asking) return;
    const look = async () => {
      const state = await get<AuthState>('/auth/state');
      if (state.signed_in?.member.id === memberId) await done();
    };
    const onFocus = () => void look().catch(() => undefined);
    window.addEventListener('focus', onFocus);
    return () => window.removeEventListener('focus', onFocus);
  }, [asking, memberId, done]);
}
