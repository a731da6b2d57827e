/** The page of one vault: its tabs, and actions on the vault itself. */
import { Pencil, Upload } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Link, Redirect, Route, Switch, useParams } from 'wouter';
import type { Vault as VaultRecord } from '../../api/types.ts';
import { useRecord } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Loading, Page, Wrong } from '../../ui/page.tsx';
import { TabLinks } from '../../ui/tabs.tsx';
import Activity from './activity.tsx';
import { AskRole } from './ask-role.tsx';
import Certificates from './certificates.tsx';
import { DeleteVault } from './delete-vault.tsx';
import Keys from './keys.tsx';
import People from './people.tsx';
import Secrets from './secrets.tsx';
import Trash from './trash.tsx';
import VaultAccess from './vault-access.tsx';
import { VaultForm } from './vault-form.tsx';

// The tabs are bundled with the page: a lazy part nested inside another would appear 300 ms later.
const Import = lazy(() => import('../../import/import.tsx'));

export default function Vault() {
  const { vault: id = '' } = useParams<{ vault: string }>();
  const vault = useRecord<VaultRecord>('vaults', id);
  if (vault.isPending) return <Loading />;
  if (!vault.data) {
    return (
      <Page title="Vault">
        <div className="surface">
          <Wrong error={vault.error} retry={() => void vault.refetch()} />
        </div>
      </Page>
    );
  }
  return <VaultPage key={id} vault={vault.data} />;
}

function VaultPage({ vault }: { vault: VaultRecord }) {
  const base = `/vaults/${vault.id}`;
  const may = useMay();
  const readsLogs = may('logs:read') && may('secrets:read');
  const tabs = [
    { href: `${base}/secrets`, label: 'Secrets' },
    { href: `${base}/keys`, label: 'Keys' },
    { href: `${base}/certificates`, label: 'Certificates' },
    { href: `${base}/access`, label: 'Access keys' },
    ...(readsLogs ? [{ href: `${base}/activity`, label: 'Activity' }] : []),
    ...(may('members:read') ? [{ href: `${base}/people`, label: 'People' }] : []),
    { href: `${base}/trash`, label: 'Trash' },
  ];
  return (
    <Page
      title={vault.name}
      above={
        <Link href="/vaults" className="hover:underline">
          Vaults
        </Link>
      }
      intro={vault.description || undefined}
      actions={<VaultActions vault={vault} />}
    >
      {vault.review && (
        <p className="text-muted">
          Someone else has to confirm every write here: see <Link href="/approvals">Approvals</Link>.
        </p>
      )}
      <TabLinks label="Vault sections" tabs={tabs} />
      <Switch>
        <Route path="/vaults/:vault/secrets/:item?">
          <Secrets />
        </Route>
        <Route path="/vaults/:vault/keys/:item?">
          <Keys />
        </Route>
        <Route path="/vaults/:vault/certificates/:item?">
          <Certificates />
        </Route>
        <Route path="/vaults/:vault/access">
          <VaultAccess />
        </Route>
        <Route path="/vaults/:vault/activity">
          <Activity />
        </Route>
        <Route path="/vaults/:vault/people">
          <People vault={vault} />
        </Route>
        <Route path="/vaults/:vault/trash">
          <Trash />
        </Route>
        <Route>
          <Redirect to={`${base}/secrets`} replace />
        </Route>
      </Switch>
    </Page>
  );
}

function VaultActions({ vault }: { vault: VaultRecord }) {
  const may = useMay();
  const [open, setOpen] = useState<'edit' | 'import' | null>(null);
  return (
    <>
      <AskRole vault={vault} />
      {may('secrets:write') && (
        <Button onClick={() => setOpen('import')}>
          <Upload className="size-4" aria-hidden /> Import
        </Button>
      )}
      {may('vaults:write') && (
        <>
          <Button onClick={() => setOpen('edit')}>
            <Pencil className="size-4" aria-hidden /> Edit
          </Button>
          <DeleteVault vault={vault} />
        </>
      )}
      {open === 'edit' && <VaultForm vault={vault} onClose={() => setOpen(null)} />}
      <Suspense>{open === 'import' && <Import vaultId={vault.id} onClose={() => setOpen(null)} />}</Suspense>
    </>
  );
}
