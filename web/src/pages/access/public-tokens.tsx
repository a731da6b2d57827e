/** Public tokens: each gives the public half of one key to whoever holds it. */
import { Plus, Share2 } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { remove } from '../../api/client.ts';
import type { Key, PublicToken } from '../../api/types.ts';
import { useList, useRecord, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { useAddress } from '../../ui/address.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Expiry } from '../../ui/expiry.tsx';
import { Empty } from '../../ui/page.tsx';
import { type Column, DataTable, Rows } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { PanelPart } from '../vaults/item-panel.tsx';
import { PublicTokenForm } from './public-token-form.tsx';

const name: Column<PublicToken> = {
  id: 'name',
  header: 'Name',
  cell: token => <span className="font-medium">{token.name || 'unnamed'}</span>,
};
const key: Column<PublicToken> = { id: 'key', header: 'Key', cell: token => <KeyName token={token} /> };
const expires: Column<PublicToken> = {
  id: 'expires',
  header: 'Expires',
  from: 'sm',
  cell: token => <Expiry at={token.expiration_date} />,
};
const used: Column<PublicToken> = {
  id: 'used',
  header: 'Last used',
  from: 'sm',
  cell: token => <Ago at={token.last_used_at} />,
};
const actions: Column<PublicToken> = {
  id: 'actions',
  header: 'Actions',
  quiet: true,
  end: true,
  cell: token => <Revoke item={token} />,
};

export function PublicTokenList() {
  const address = useAddress();
  const list = useList<PublicToken>('public-tokens', { page: address.page });
  return (
    <div className="surface overflow-hidden">
      <DataTable
        label="Public tokens"
        columns={[name, key, expires, used, actions]}
        list={list}
        page={address.page}
        onPage={address.setPage}
        empty={
          <Empty icon={Share2} title="No public token yet">
            Open a key in a vault and share its public half from there.
          </Empty>
        }
      />
    </div>
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
            <Plus className="size-4" aria-hidden /> Share the public half
          </Button>
        )
      }
    >
      {found.length === 0 ? (
        <p className="text-muted">None. A token lets someone fetch the public half, and nothing else.</p>
      ) : (
        <div className="rounded-lg border">
          <Rows label="Public tokens" rows={found} columns={[name, expires, used, actions]} />
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
      className="font-mono text-[13px] break-all hover:underline"
    >
      {record.data?.name ?? `${token.key_id.slice(0, 8)}…`}
    </Link>
  );
}

function Revoke({ item }: { item: PublicToken }) {
  const may = useMay();
  const refresh = useRefresh();
  async function revoke() {
    await remove(`/v1/public-tokens/${item.id}`);
    await refresh('public-tokens');
    note('The public token is revoked');
  }
  if (!may('public-tokens:write')) return null;
  return (
    <ConfirmButton
      look="quiet"
      size="small"
      label="Revoke"
      name={`Revoke ${item.name}`}
      title="Revoke this public token?"
      text="Whoever holds it can’t fetch the public half with it any more."
      action="Revoke"
      onConfirm={revoke}
    />
  );
}
