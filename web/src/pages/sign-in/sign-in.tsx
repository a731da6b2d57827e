/** The sign-in page. Afterwards the person goes on to the page they wanted, if it is a path on this site. */
import { Redirect, useSearchParams } from 'wouter';
import type { AuthState } from '../../api/types.ts';
import { useRefreshState } from '../../session/session.tsx';
import { SignInForm } from '../../session/sign-in-form.tsx';
import { Problem } from '../../ui/dialog.tsx';
import { SignInFrame } from './sign-in-frame.tsx';

export default function SignIn({ state }: { state: AuthState }) {
  const [search] = useSearchParams();
  const refresh = useRefreshState();
  if (state.setup_required) return <Redirect to="/setup" replace />;
  if (state.signed_in !== null) return <Redirect to={safePath(search.get('next'))} replace />;
  const isRefused = search.has('error');
  return (
    <SignInFrame title="Sign in to Strongroom">
      {isRefused && (
        <div className="mb-4">
          <Problem text="Single sign-on failed. Ask an owner whether you are a member." />
        </div>
      )}
      <SignInForm state={state} onDone={refresh} />
    </SignInFrame>
  );
}

function safePath(next: string | null): string {
  return next !== null && /^\/(?![/\\])[\w\-/]*$/.test(next) ? next : '/';
}
