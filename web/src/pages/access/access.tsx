/** The credentials of programs: access keys of all vaults, and public tokens. */
import { Redirect, Route, Switch } from 'wouter';
import { AccessKeys } from '../../shared/access-keys.tsx';
import { PublicTokenList } from '../../shared/public-tokens.tsx';
import { Page } from '../../ui/page.tsx';
import { TabLinks } from '../../ui/tabs.tsx';

const tabs = [
  { href: '/access/keys', label: 'Access keys' },
  { href: '/access/public-tokens', label: 'Public tokens' },
];

export default function Access() {
  return (
    <Page
      title="Access"
      intro="An access key reads one vault. A public token gives access to one public key and nothing else."
    >
      <TabLinks label="Credential types" tabs={tabs} />
      <Switch>
        <Route path="/access/keys">
          <AccessKeys />
        </Route>
        <Route path="/access/public-tokens">
          <PublicTokenList />
        </Route>
        <Route>
          <Redirect to="/access/keys" replace />
        </Route>
      </Switch>
    </Page>
  );
}
