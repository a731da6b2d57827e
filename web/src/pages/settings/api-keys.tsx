/** The list of API keys: who created them, what they allow, and when they were last used. */
import { KeySquare } from 'lucide-react';
import type { ApiKey } from '../../api/types.ts';
import { useMay } from '../../session/session.tsx';
import { Collection } from '../../shared/collection.tsx';
import { RevokeButton } from '../../shared/revoke-button.tsx';
import { Who } from '../../shared/who.tsx';
import { Badge } from '../../ui/badge.tsx';
import { actionsColumn, expiresColumn, lastUsedColumn } from '../../ui/columns.tsx';
import type { Column } from '../../ui/table.tsx';
import { ApiKeyForm } from './api-key-form.tsx';

const columns: readonly Column<ApiKey>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: ({ name, created_by }) => (
      <span>
        <span className="block font-medium break-words">{name}</span>
        <span className="block text-xs text-muted">
          created by <Who id={created_by} />
        </span>
      </span>
    ),
  },
  { id: 'role', header: 'Role', cell: ({ role }) => role },
  { id: 'restrictions', header: 'Restrictions', from: 'md', cell: key => <Restrictions of={key} /> },
  expiresColumn('lg'),
  lastUsedColumn,
  actionsColumn(key => <Revoke item={key} />),
];

export default function ApiKeys() {
  return (
    <Collection<ApiKey>
      collection="api-keys"
      label="API Keys"
      columns={columns}
      create={{
        scope: 'api-keys:write',
        label: 'Generate New Key',
        form: close => <ApiKeyForm onClose={close} />,
      }}
      empty={{
        icon: KeySquare,
        title: 'No API keys yet',
        hint: 'Programs need an API key to manage vaults through the general API. To read a vault, an access key is enough.',
        filtered: 'No API keys match the search',
      }}
    />
  );
}

function Restrictions({ of: { scopes, vault_ids } }: { of: ApiKey }) {
  if (scopes === null && vault_ids === null) return <span className="text-muted">none</span>;
  return (
    <span className="flex flex-wrap gap-1">
      {scopes !== null &&
        (scopes.length > 3 ? (
          <Badge>{scopes.length} scopes</Badge>
        ) : (
          scopes.map(scope => <Badge key={scope}>{scope}</Badge>)
        ))}
      {vault_ids !== null && (
        <Badge>{vault_ids.length === 1 ? '1 vault' : `${vault_ids.length} vaults`}</Badge>
      )}
    </span>
  );
}

function Revoke({ item }: { item: ApiKey }) {
  const may = useMay();
  if (!may('api-keys:write')) return null;
  return (
    <RevokeButton
      collection="api-keys"
      item={item}
      text="Every request with this API key will be refused. This can’t be undone."
    />
  );
}
