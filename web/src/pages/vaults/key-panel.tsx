/** One key: its public key, its private key on demand, rotation, signing requests and public tokens. */
import { Pencil, RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { post } from '../../api/client.ts';
import type { Key } from '../../api/types.ts';
import { useRecord, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { DeleteItem, ItemPanel, PanelPart } from '../../shared/item-panel.tsx';
import { PublicTokens } from '../../shared/public-tokens.tsx';
import { Badge, TagList } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Expiry, StateBadge } from '../../ui/expiry.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Exact } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { HiddenValue } from './hidden-value.tsx';
import { KeyForm } from './key-form.tsx';
import { KeyHolds, kindOf } from './key-kind.tsx';
import { revealKey } from './reveal.ts';
import { IdWithCopy } from './secret-panel.tsx';
import { SigningRequest } from './signing-request.tsx';
import { UseRules } from './use-rules.tsx';
import { useVersions, VersionList } from './version-list.tsx';

export function KeyPanel({ id, onClose }: { id: string; onClose: () => void }) {
  const record = useRecord<Key>('keys', id);
  const may = useMay();
  return (
    <ItemPanel record={record} onClose={onClose} kind="Key">
      {key => (
        <>
          {may('keys:write') && <KeyActions item={key} onClose={onClose} />}
          {key.has_private_key && (
            <PanelPart title="Private key">
              {key.exportable ? (
                <HiddenValue
                  key={key.version}
                  what="private key"
                  mayReveal={may('keys:reveal')}
                  reveal={() => revealKey(key.id)}
                />
              ) : (
                <p className="text-muted">
                  Not exportable, so it can’t be revealed. It can still sign certificate requests and be
                  rotated.
                </p>
              )}
            </PanelPart>
          )}
          <PanelPart title="Public key">
            <CodeBlock text={key.public_pem} label="public key" />
          </PanelPart>
          <PanelPart title="Details">
            <KeyFacts item={key} />
          </PanelPart>
          {may('use-rules:read') && <UseRules item={key} />}
          {may('public-tokens:read') && <PublicTokens keyId={key.id} keyName={key.name} />}
          <KeyVersions item={key} />
        </>
      )}
    </ItemPanel>
  );
}

function KeyActions({ item, onClose }: { item: Key; onClose: () => void }) {
  const [editing, setEditing] = useState(false);
  const may = useMay();
  const refresh = useRefresh();
  async function rotate() {
    await post(`/v1/keys/${item.id}/rotate`);
    await refresh('keys', 'versions');
    note('Key rotated');
  }
  return (
    <div className="flex flex-wrap gap-2">
      <Button size="small" onClick={() => setEditing(true)}>
        <Pencil className="size-4" aria-hidden /> Edit
      </Button>
      {item.has_private_key && (
        <ConfirmButton
          look="plain"
          size="small"
          label={
            <>
              <RefreshCw className="size-4" aria-hidden /> Rotate
            </>
          }
          title={`Rotate ${item.name}?`}
          text={`A new key of the same type becomes version ${item.version + 1}. Programs that read this key will get the new version.`}
          action="Rotate"
          onConfirm={rotate}
        />
      )}
      {item.has_private_key && may('certificates:write') && <SigningRequest collection="keys" id={item.id} />}
      <DeleteItem item={item} collection="keys" onDone={onClose} />
      {editing && <KeyForm vaultId={item.vault_id} item={item} onClose={() => setEditing(false)} />}
    </div>
  );
}

function KeyFacts({ item }: { item: Key }) {
  return (
    <Facts
      facts={[
        ['Type', kindOf(item)],
        ['Contains', <KeyHolds key="contains" of={item} />],
        ['State', <StateBadge key="state" of={item} />],
        ['Version', item.version],
        ['Active from', item.activation_date ? <Exact key="from" at={item.activation_date} /> : 'always'],
        ['Expires', <Expiry key="expires" at={item.expiration_date} />],
        ['Tags', Object.keys(item.tags).length === 0 ? 'none' : <TagList key="tags" tags={item.tags} />],
        ['Updated', <Exact key="updated" at={item.updated_at} />],
        ['ID', <IdWithCopy key="id" id={item.id} />],
      ]}
    />
  );
}

function KeyVersions({ item }: { item: Key }) {
  const versions = useVersions('keys', item.id, item.version);
  return (
    <PanelPart title="Versions">
      <VersionList
        list={versions}
        actions={version => version.current && <Badge tone="accent">current</Badge>}
      />
    </PanelPart>
  );
}
