/**
 * When the session ends in the middle of something, this window asks for a new sign-in over the page. The form
 * behind it stays as it is, and the request that found the session gone is sent again.
 */
import { useEffect, useRef, useState } from 'react';
import { get, onSessionEnd } from '../api/client.ts';
import type { AuthState } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useRefreshState, useSession } from './session.tsx';
import { SignInForm } from './sign-in-form.tsx';

interface Waiting {
  readonly promise: Promise<boolean>;
  readonly settle: (renewed: boolean) => void;
}

export function RenewSession() {
  const { state, signedIn } = useSession();
  const [asking, setAsking] = useState(false);
  const waiting = useRef<Waiting | null>(null);
  const refresh = useRefreshState();

  useEffect(() => {
    onSessionEnd(() => {
      waiting.current ??= newWaiting();
      setAsking(true);
      return waiting.current.promise;
    });
    return () => onSessionEnd(null);
  }, []);

  function settle(renewed: boolean) {
    waiting.current?.settle(renewed);
    waiting.current = null;
    setAsking(false);
  }
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
      description="Sign in again to go on. What you typed is still there."
    >
      <SignInForm state={state} email={signedIn.member.email} onDone={done} />
      <Button look="quiet" className="mt-3 w-full" onClick={() => window.location.assign('/sign-in')}>
        Leave, and lose what is typed
      </Button>
    </Dialog>
  );
}

/** Single sign-on happens in another tab: when the person comes back, look whether it worked. */
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

function newWaiting(): Waiting {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  return { promise, settle: resolve };
}
