/**
 * Asks the person to sign in again when the session ends while they are working. The form behind the dialog keeps its
 * input, and the request that failed is sent again.
 */
import { useEffect } from 'react';
import { get, onSessionEnd } from '../api/client.ts';
import type { AuthState } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useAsking } from './asking.ts';
import { useRefreshState, useSession } from './session.tsx';
import { SignInForm } from './sign-in-form.tsx';

export function RenewSession() {
  const { state, signedIn } = useSession();
  const { asking, settle } = useAsking(onSessionEnd);
  const refresh = useRefreshState();

  async function done() {
    settle(true);
    await refresh();
  }
  useSignInElsewhere(asking, signedIn.member.id, done);

  return (
    <Dialog
      open={asking}
      onClose={() => settle(false)}
      title="Your session has ended"
      description="Sign in again to continue. Your input is still here."
    >
      <SignInForm state={state} email={signedIn.member.email} onDone={done} />
      <Button look="quiet" className="mt-3 w-full" onClick={() => window.location.assign('/sign-in')}>
        Leave and discard your input
      </Button>
    </Dialog>
  );
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
