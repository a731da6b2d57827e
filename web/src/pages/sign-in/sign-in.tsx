/** The sign-in page. Afterwards, the person is sent to the page they requested, if it is a path on this site. */
import { Redirect, useSearchParams } from 'wouter';
import type { AuthState } from '../../api/types.ts';
import { useRefreshState } from '../../session/session.tsx';
import { ByIssuer, SignInForm } from '../../session/sign-in-form.tsx';
import { SignInFrame } from '../../shared/sign-in-frame.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Problem } from '../../ui/problem.tsx';

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
      {state.nobody_joined ? <NobodyYet state={state} /> : <SignInForm state={state} onDone={refresh} />}
    </SignInFrame>
  );
}

/** Shown after a headless setup, which creates an organization without a member who can sign in. */
function NobodyYet({ state }: { state: AuthState }) {
  return (
    <div className="flex flex-col gap-3">
      <p>
        No member has joined yet: the organization was created with <code>strongroom setup</code>. Invite the
        first member on the machine that runs Strongroom, then open the link that the command prints.
      </p>
      <CodeBlock
        label="command"
        text={'strongroom setup \\\n  --organization NAME \\\n  --email you@example.com'}
      />
      <p className="text-xs text-muted">
        The link is valid for 7 days. If it is lost, run the same command to get a new one.
      </p>
      {state.methods.oidc !== null && (
        <p className="text-xs text-muted">If you have already been invited, you can join here:</p>
      )}
      <ByIssuer state={state} verb="Join" />
    </div>
  );
}

function safePath(next: string | null): string {
  return next !== null && /^\/(?![/\\])[\w\-/]*$/.test(next) ? next : '/';
}
