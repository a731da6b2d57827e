/** The list of a vault's secrets. It never contains values: each is revealed on request. */
import { FileLock2 } from 'lucide-react';
import { useLocation, useParams } from 'wouter';
import type { Secret } from '../../api/types.ts';
import { useMay } from '../../session/session.tsx';
import { Collection } from '../../shared/collection.tsx';
import { expiresColumn, nameColumn, stateColumn, tagsColumn, updatedColumn } from '../../ui/columns.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Expiry, StateBadge, stateOf } from '../../ui/expiry.tsx';
import { useSelection } from '../../ui/selection.ts';
import type { Column } from '../../ui/table.tsx';
import { LastRead } from './last-read.tsx';
import { ListBar, resourceFilters } from './list-bar.tsx';
import { revealSecret } from './reveal.ts';
import { NewSecret } from './secret-form.tsx';
import { SecretPanel } from './secret-panel.tsx';
import { SelectionBar } from './secret-selection.tsx';

const copyColumn: Column<Secret> = {
  id: 'copy',
  header: 'Copy',
  quiet: true,
  end: true,
  cell: ({ id, name }) => (
    <CopyButton label={`Copy the value of ${name} without showing it`} text={() => revealSecret(id)} />
  ),
};

/** The state, unless active, and the expiry, if any: below the name on a phone, which has no columns for them. */
export function PhoneFacts({ of }: { of: Parameters<typeof StateBadge>[0]['of'] }) {
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      {stateOf(of) !== 'active' && <StateBadge of={of} />}
      {of.expiration_date !== null && (
        <span>
          expires <Expiry at={of.expiration_date} />
        </span>
      )}
    </span>
  );
}

const lastReadColumn: Column<Secret> = {
  id: 'read',
  header: 'Last read',
  from: 'md',
  cell: (secret, rows) => <LastRead of={secret} among={rows} />,
};

function columnsFor(mayReveal: boolean, mayLog: boolean): readonly Column<Secret>[] {
  return [
    nameColumn('secrets', secret => <PhoneFacts of={secret} />),
    stateColumn,
    tagsColumn,
    expiresColumn('md'),
    ...(mayLog ? [lastReadColumn] : []),
    { ...updatedColumn, from: 'lg' },
    ...(mayReveal ? [copyColumn] : []),
  ];
}

export default function Secrets() {
  const { vault = '', item } = useParams<{ vault: string; item?: string }>();
  const may = useMay();
  const [, go] = useLocation();
  const selection = useSelection<Secret>();
  const maySelect = may('secrets:write') || may('secrets:reveal');
  return (
    <>
      <Collection<Secret>
        collection="secrets"
        label="Secrets"
        columns={columnsFor(may('secrets:reveal'), may('logs:read'))}
        within={{ vault_id: vault }}
        filters={resourceFilters}
        arranged
        selection={maySelect ? selection : undefined}
        above={found => <SelectionBar selection={selection} {...found} />}
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
