/** The routes, and which of them require a session. Each page is loaded when it is first opened. */
import { type ComponentType, lazy, Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import type { AuthState } from './api/types.ts';
import { authorizePage, isAuthorizationWaiting } from './session/authorization-request.ts';
import { isDeviceWaiting } from './session/hash-token.ts';
import { ProveAgain } from './session/prove-again.tsx';
import { RenewSession } from './session/renew-session.tsx';
import { SessionProvider, useAuthState } from './session/session.tsx';
import { Layout } from './shell/layout.tsx';
import { ButtonLink } from './ui/button.tsx';
import { Loading, Page, Wrong } from './ui/page.tsx';

const SetUp = lazy(() => import('./pages/set-up/set-up.tsx'));
const SignIn = lazy(() => import('./pages/sign-in/sign-in.tsx'));
const Choose = lazy(() => import('./pages/sign-in/choose.tsx'));
const Invitation = lazy(() => import('./pages/sign-in/invitation.tsx'));
const Welcome = lazy(() => import('./pages/set-up/welcome.tsx'));
const Authorize = lazy(() => import('./pages/oauth/authorize.tsx'));
const Device = lazy(() => import('./pages/device/device.tsx'));

const pages: readonly (readonly [string, ComponentType])[] = [
  ['/', lazy(() => import('./pages/overview/overview.tsx'))],
  ['/vaults', lazy(() => import('./pages/vaults/vaults.tsx'))],
  ['/vaults/trash', lazy(() => import('./pages/vaults/vaults.tsx'))],
  ['/vaults/:vault/*?', lazy(() => import('./pages/vaults/vault.tsx'))],
  ['/compare', lazy(() => import('./pages/compare/compare.tsx'))],
  ['/rotations', lazy(() => import('./pages/rotations/rotations.tsx'))],
  ['/access/*?', lazy(() => import('./pages/access/access.tsx'))],
  ['/identities/:identity?', lazy(() => import('./pages/identities/identities.tsx'))],
  ['/approvals/:approval?', lazy(() => import('./pages/approvals/approvals.tsx'))],
  ['/runs/:run?', lazy(() => import('./pages/runs/runs.tsx'))],
  ['/proposals/:proposal', lazy(() => import('./pages/approvals/approvals.tsx'))],
  ['/logs/requests', lazy(() => import('./pages/logs/request-log.tsx'))],
  ['/logs/audit', lazy(() => import('./pages/logs/audit-log.tsx'))],
  ['/webhooks/:webhook?', lazy(() => import('./pages/webhooks/webhooks.tsx'))],
  ['/settings/*?', lazy(() => import('./pages/settings/settings.tsx'))],
];

export function App() {
  const state = useAuthState();
  if (state.isPending) return <Loading />;
  if (!state.data) return <Wrong error={state.error} retry={() => void state.refetch()} />;
  return (
    <Suspense fallback={<Loading />}>
      <Routes state={state.data} />
    </Suspense>
  );
}

function Routes({ state }: { state: AuthState }) {
  return (
    <Switch>
      <Route path="/setup">
        <SetUp state={state} />
      </Route>
      <Route path="/invite">
        <Invitation state={state} />
      </Route>
      <Route path="/sign-in/choose">
        <Choose />
      </Route>
      <Route path="/sign-in">
        <SignIn state={state} />
      </Route>
      <Route>
        <SignedInRoutes state={state} />
      </Route>
    </Switch>
  );
}

function SignedInRoutes({ state }: { state: AuthState }) {
  const { signed_in: signedIn } = state;
  if (state.setup_required && signedIn === null) return <Redirect to="/setup" replace />;
  if (signedIn === null) return <Redirect to={`/sign-in${nextOf()}`} replace />;
  return (
    <SessionProvider state={state} signedIn={signedIn}>
      <RenewSession />
      <ProveAgain />
      <Switch>
        <Route path="/welcome">
          <Welcome />
        </Route>
        <Route path="/device">
          <Device />
        </Route>
        <Route path={authorizePage}>
          <Authorize />
        </Route>
        <Route path="/">{waitingPage()}</Route>
        <Route>
          <Inside />
        </Route>
      </Switch>
    </SessionProvider>
  );
}

/** The page that the person was on their way to, if signing in led them elsewhere. */
function waitingPage() {
  if (isDeviceWaiting()) return <Redirect to="/device" replace />;
  return isAuthorizationWaiting() ? <Redirect to={authorizePage} replace /> : <Inside />;
}

function Inside() {
  return (
    <Layout>
      <Suspense fallback={<Loading />}>
        <Pages />
      </Suspense>
    </Layout>
  );
}

function Pages() {
  return (
    <Switch>
      {pages.map(([path, Shown]) => (
        <Route key={path} path={path}>
          <Shown />
        </Route>
      ))}
      <Route>
        <Page title="Page not found" intro="It may have moved. Use the menu to find your way.">
          <div>
            <ButtonLink href="/">Go to the overview</ButtonLink>
          </div>
        </Page>
      </Route>
    </Switch>
  );
}

/** The `next` parameter for the sign-in page: only ever a path on this site. */
function nextOf(): string {
  const { pathname } = window.location;
  return pathname === '/' ? '' : `?next=${encodeURIComponent(pathname)}`;
}
