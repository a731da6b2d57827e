/** The list of a vault's keys. It never contains private keys. */
import { KeyRound } from 'lucide-react';
import { useLocation, useParams } from 'wouter';
import type { Key } from '../../api/types.ts';
import { Collection } from '../../shared/collection.tsx';
import { expiresColumn, nameColumn, stateColumn, tagsColumn, updatedColumn } from '../../ui/columns.tsx';
import { Expiry } from '../../ui/expiry.tsx';
import type { Column } from '../../ui/table.tsx';
import { KeyForm } from './key-form.tsx';
import { KeyHolds, kindOf } from './key-kind.tsx';
import { KeyPanel } from './key-panel.tsx';
import { ListBar, resourceFilters } from './list-bar.tsx';

function Expires({ of: { expiration_date } }: { of: Key }) {
  if (expiration_date === null) return null;
  return (
    <>
      expires <Expiry at={expiration_date} />
    </>
  );
}

const columns: readonly Column<Key>[] = [
  nameColumn('keys', key => <Expires of={key} />),
  {
    id: 'kind',
    header: 'Type',
    cell: key => (
      <span className="flex flex-wrap gap-1.5">
        <span className="whitespace-nowrap">{kindOf(key)}</span> <KeyHolds of={key} />
      </span>
    ),
  },
  stateColumn,
  tagsColumn,
  expiresColumn('md'),
  updatedColumn,
];

export default function Keys() {
  const { vault = '', item } = useParams<{ vault: string; item?: string }>();
  const [, go] = useLocation();
  return (
    <>
      <Collection<Key>
        collection="keys"
        label="Keys"
        columns={columns}
        within={{ vault_id: vault }}
        filters={resourceFilters}
        arranged
        bar={action => <ListBar what="keys" action={action} />}
        create={{
          scope: 'keys:write',
          label: 'New key',
          form: close => <KeyForm vaultId={vault} onClose={close} />,
        }}
        empty={{
          icon: KeyRound,
          title: 'No keys in this vault yet',
          hint: 'Generate one in the vault, or import one as PEM.',
          filtered: 'No keys match the filter',
        }}
      />
      {item && <KeyPanel key={item} id={item} onClose={() => go(`/vaults/${vault}/keys`)} />}
    </>
  );
}
