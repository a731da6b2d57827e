/** The settings pages: API keys, members, groups, the organization, the person's security, and facts about this service. */
import { type ComponentType, lazy, Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { useMay } from '../../session/session.tsx';
import { Loading, Page } from '../../ui/page.tsx';
import { TabLinks } from '../../ui/tabs.tsx';

interface Place {
  readonly href: string;
  readonly label: string;
  readonly needs: string;
  readonly page: ComponentType;
}

const places: readonly Place[] = [
  {
    href: '/settings/api-keys',
    label: 'API Keys',
    needs: 'api-keys:read',
    page: lazy(() => import('./api-keys.tsx')),
  },
  {
    href: '/settings/members',
    label: 'Members',
    needs: 'members:read',
    page: lazy(() => import('./members.tsx')),
  },
  {
    href: '/settings/groups',
    label: 'Groups',
    needs: 'members:read',
    page: lazy(() => import('./groups.tsx')),
  },
  {
    href: '/settings/organization',
    label: 'Organization',
    needs: 'organization:read',
    page: lazy(() => import('./organization.tsx')),
  },
  { href: '/settings/security', label: 'Security', needs: '', page: lazy(() => import('./security.tsx')) },
  { href: '/settings/about', label: 'About', needs: '', page: lazy(() => import('./about.tsx')) },
];

export default function Settings() {
  const may = useMay();
  const shown = places.filter(({ needs }) => needs === '' || may(needs));
  return (
    <Page title="Settings">
      <TabLinks label="Settings" tabs={shown} />
      <Suspense fallback={<Loading />}>
        <Switch>
          {shown.map(({ href, page: Shown }) => (
            <Route key={href} path={href}>
              <Shown />
            </Route>
          ))}
          <Route>
            <Redirect to={shown[0]!.href} replace />
          </Route>
        </Switch>
      </Suspense>
    </Page>
  );
}
