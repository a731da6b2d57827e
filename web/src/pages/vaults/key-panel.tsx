/** One key: its public key, its private key on demand, rotation, signing requests and public tokens. */
import { Pencil, RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { post } from '../../api/client.ts';
import { type Key, keyOperations } from '../../api/types.ts';
import { useRecord, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { DeleteItem, ItemPanel, PanelPart } from '../../shared/item-panel.tsx';
import { PublicTokens } from '../../shared/public-tokens.tsx';
import { useAddress } from '../../ui/address.ts';
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
          {key.has_private_key && key.type !== 'symmetric' && (
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
                  Not exportable, so it can’t be revealed. It can still be used and rotated.
                </p>
              )}
            </PanelPart>
          )}
          {key.public_pem !== '' && (
            <PanelPart title="Public key">
              <CodeBlock text={key.public_pem} label="public key" />
            </PanelPart>
          )}
          <KeyAbilities item={key} />
          <PanelPart title="Details">
            <KeyFacts item={key} />
          </PanelPart>
          {may('use-rules:read') && <UseRules item={key} />}
          {may('public-tokens:read') && key.public_pem !== '' && (
            <PublicTokens keyId={key.id} keyName={key.name} />
          )}
          <KeyVersions item={key} />
        </>
      )}
    </ItemPanel>
  );
}

function KeyActions({ item, onClose }: { item: Key; onClose: () => void }) {
  const [editing, setEditing] = useState(useAddress().get('edit') !== '');
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
      {item.has_private_key && item.public_pem !== '' && may('certificates:write') && (
        <SigningRequest collection="keys" id={item.id} />
      )}
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
        ['Lowest version', item.min_version],
        ['Active from', item.activation_date ? <Exact key="from" at={item.activation_date} /> : 'always'],
        ['Expires', <Expiry key="expires" at={item.expiration_date} />],
        ['Tags', Object.keys(item.tags).length === 0 ? 'none' : <TagList key="tags" tags={item.tags} />],
        ['Updated', <Exact key="updated" at={item.updated_at} />],
        ['ID', <IdWithCopy key="id" id={item.id} />],
      ]}
    />
  );
}

/** What programs can have the key do, without its leaving the service. */
function KeyAbilities({ item }: { item: Key }) {
  return (
    <PanelPart title="Operations">
      <p className="text-muted">
        Access keys that are allowed to can have the key do this. It never leaves the service.
      </p>
      <Facts
        facts={keyOperations.flatMap(operation => {
          const algorithms = item.operations[operation];
          return algorithms === undefined ? [] : [[operation, algorithms.join(', ')] as const];
        })}
      />
    </PanelPart>
  );
}

function KeyVersions({ item }: { item: Key }) {
  const versions = useVersions('keys', item.id, item.version);
  return (
    <PanelPart title="Versions">
      <VersionList
        list={versions}
        actions={version => {
          if (version.current) return <Badge tone="accent">current</Badge>;
          return version.version < item.min_version && <Badge>retired</Badge>;
        }}
      />
    </PanelPart>
  );
}
