/** Public tokens: each gives its holder the public key of one key pair. */
import { Plus, Share2 } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Key, PublicToken } from '../api/types.ts';
import { useList, useRecord } from '../api/use.ts';
import { useMay } from '../session/session.tsx';
import { Button } from '../ui/button.tsx';
import { actionsColumn, expiresColumn, lastUsedColumn } from '../ui/columns.tsx';
import { type Column, Rows } from '../ui/table.tsx';
import { CollectionTable } from './collection.tsx';
import { PanelPart } from './item-panel.tsx';
import { PublicTokenForm } from './public-token-form.tsx';
import { RevokeButton } from './revoke-button.tsx';

const name: Column<PublicToken> = {
  id: 'name',
  header: 'Name',
  cell: token => <span className="font-medium">{token.name || 'unnamed'}</span>,
};
const key: Column<PublicToken> = { id: 'key', header: 'Key', cell: token => <KeyName token={token} /> };
const actions = actionsColumn<PublicToken>(token => <Revoke item={token} />);

export function PublicTokenList() {
  return (
    <CollectionTable<PublicToken>
      collection="public-tokens"
      label="Public tokens"
      columns={[name, key, expiresColumn('sm'), lastUsedColumn, actions]}
      empty={{
        icon: Share2,
        title: 'No public tokens yet',
        hint: 'To create one, open a key in a vault and share its public key.',
      }}
    />
  );
}

/** The tokens of one key, as part of its panel. */
export function PublicTokens({ keyId, keyName }: { keyId: string; keyName: string }) {
  const [creating, setCreating] = useState(false);
  const may = useMay();
  const tokens = useList<PublicToken>('public-tokens', { key_id: keyId, limit: 100 });
  const found = tokens.data?.data ?? [];
  return (
    <PanelPart
      title="Public tokens"
      actions={
        may('public-tokens:write') && (
          <Button size="small" onClick={() => setCreating(true)}>
            <Plus className="size-4" aria-hidden /> Share the public key
          </Button>
        )
      }
    >
      {found.length === 0 ? (
        <p className="text-muted">
          None yet. Anyone with a public token can fetch the public key, and nothing else.
        </p>
      ) : (
        <div className="rounded-lg border">
          <Rows
            label="Public tokens"
            rows={found}
            columns={[name, expiresColumn('sm'), lastUsedColumn, actions]}
          />
        </div>
      )}
      {creating && <PublicTokenForm keyId={keyId} keyName={keyName} onClose={() => setCreating(false)} />}
    </PanelPart>
  );
}

function KeyName({ token }: { token: PublicToken }) {
  const record = useRecord<Key>('keys', token.key_id);
  return (
    <Link
      href={`/vaults/${token.vault_id}/keys/${token.key_id}`}
      className="font-mono text-xs break-all hover:underline"
    >
      {record.data?.name ?? `${token.key_id.slice(0, 8)}…`}
    </Link>
  );
}

function Revoke({ item }: { item: PublicToken }) {
  const may = useMay();
  if (!may('public-tokens:write')) return null;
  return (
    <RevokeButton
      collection="public-tokens"
      item={item}
      text="Its holders can no longer fetch the public key with it. This can’t be undone."
    />
  );
}
