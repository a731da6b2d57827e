/** How programs get access: the access keys of all vaults, and public tokens. */
import { Redirect, Route, Switch } from 'wouter';
import { Page } from '../../ui/page.tsx';
import { TabLinks } from '../../ui/tabs.tsx';
import { AccessKeys } from './access-keys.tsx';
import { PublicTokenList } from './public-tokens.tsx';

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
      <TabLinks label="Kinds of access" tabs={tabs} />
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
