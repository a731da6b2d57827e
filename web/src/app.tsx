/** Which page an address shows, and which of them need a session. Pages are fetched when they are gone to. */
import { type ComponentType, lazy, Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import type { AuthState } from './api/types.ts';
import { RenewSession } from './session/renew-session.tsx';
import { SessionProvider, useAuthState } from './session/session.tsx';
import { Layout } from './shell/layout.tsx';
import { ButtonLink } from './ui/button.tsx';
import { Loading, Page, Wrong } from './ui/page.tsx';

const SetUp = lazy(() => import('./pages/set-up/set-up.tsx'));
const SignIn = lazy(() => import('./pages/sign-in/sign-in.tsx'));
const Invitation = lazy(() => import('./pages/sign-in/invitation.tsx'));
const Welcome = lazy(() => import('./pages/set-up/welcome.tsx'));

const pages: readonly (readonly [string, ComponentType])[] = [
  ['/', lazy(() => import('./pages/overview/overview.tsx'))],
  ['/vaults', lazy(() => import('./pages/vaults/vaults.tsx'))],
  ['/vaults/:vault/*?', lazy(() => import('./pages/vaults/vault.tsx'))],
  ['/access/*?', lazy(() => import('./pages/access/access.tsx'))],
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
      <Doors state={state.data} />
    </Suspense>
  );
}

function Doors({ state }: { state: AuthState }) {
  return (
    <Switch>
      <Route path="/setup">
        <SetUp state={state} />
      </Route>
      <Route path="/invite">
        <Invitation />
      </Route>
      <Route path="/sign-in">
        <SignIn state={state} />
      </Route>
      <Route>
        <Inside state={state} />
      </Route>
    </Switch>
  );
}

function Inside({ state }: { state: AuthState }) {
  const { signed_in: signedIn } = state;
  if (state.setup_required && signedIn === null) return <Redirect to="/setup" replace />;
  if (signedIn === null) return <Redirect to={`/sign-in${nextOf()}`} replace />;
  return (
    <SessionProvider state={state} signedIn={signedIn}>
      <RenewSession />
      <Switch>
        <Route path="/welcome">
          <Welcome />
        </Route>
        <Route>
          <Layout>
            <Suspense fallback={<Loading />}>
              <Pages />
            </Suspense>
          </Layout>
        </Route>
      </Switch>
    </SessionProvider>
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
        <Page title="There is no such page" intro="It may have been moved. The way around is on the left.">
          <div>
            <ButtonLink href="/">To the overview</ButtonLink>
          </div>
        </Page>
      </Route>
    </Switch>
  );
}

/** Where to go after signing in: a path of ours, nothing else. */
function nextOf(): string {
  const { pathname } = window.location;
  return pathname === '/' ? '' : `?next=${encodeURIComponent(pathname)}`;
}
