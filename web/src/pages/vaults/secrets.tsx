/** The secrets of a vault. The list holds no values: each is revealed on its own, and hidden again. */
import { FileLock2 } from 'lucide-react';
import { useLocation, useParams } from 'wouter';
import type { Secret } from '../../api/types.ts';
import { useMay } from '../../session/session.tsx';
import { Collection } from '../../ui/collection.tsx';
import { expiresColumn, nameColumn, stateColumn, tagsColumn, updatedColumn } from '../../ui/columns.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import type { Column } from '../../ui/table.tsx';
import { ListBar, resourceFilters } from './list-bar.tsx';
import { revealSecret } from './reveal.ts';
import { NewSecret } from './secret-form.tsx';
import { SecretPanel } from './secret-panel.tsx';

const copyColumn: Column<Secret> = {
  id: 'copy',
  header: 'Copy',
  quiet: true,
  end: true,
  cell: ({ id, name }) => (
    <CopyButton label={`Copy the value of ${name} without showing it`} text={() => revealSecret(id)} />
  ),
};

function columnsFor(mayReveal: boolean): readonly Column<Secret>[] {
  return [
    nameColumn('secrets'),
    stateColumn,
    tagsColumn,
    expiresColumn('md'),
    {
      id: 'version',
      header: 'Version',
      from: 'lg',
      cell: ({ version }) => <span className="tabular-nums">{version}</span>,
    },
    updatedColumn,
    ...(mayReveal ? [copyColumn] : []),
  ];
}

export default function Secrets() {
  const { vault = '', item } = useParams<{ vault: string; item?: string }>();
  const may = useMay();
  const [, go] = useLocation();
  return (
    <>
      <Collection<Secret>
        collection="secrets"
        label="Secrets"
        columns={columnsFor(may('secrets:reveal'))}
        within={{ vault_id: vault }}
        filters={resourceFilters}
        bar={action => <ListBar what="secrets" action={action} />}
        create={{
          scope: 'secrets:write',
          label: 'New secret',
          form: close => <NewSecret vaultId={vault} onClose={close} />,
        }}
        empty={{
          icon: FileLock2,
          title: 'No secrets in this vault yet',
          hint: 'Create one, or use Import above to add a whole .env file and review the changes first.',
          filtered: 'No secrets match the filter',
        }}
      />
      {item && <SecretPanel key={item} id={item} onClose={() => go(`/vaults/${vault}/secrets`)} />}
    </>
  );
}
