/** One secret: its value on demand, its dates and tags, its versions. */
import { Pencil } from 'lucide-react';
import { useState } from 'react';
import type { Secret } from '../../api/types.ts';
import { useRecord } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { TagList } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Expiry, StateBadge } from '../../ui/expiry.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Exact } from '../../ui/time.tsx';
import { HiddenValue } from './hidden-value.tsx';
import { DeleteItem, ItemPanel, PanelPart } from './item-panel.tsx';
import { revealSecret } from './reveal.ts';
import { SecretForm } from './secret-form.tsx';
import { SecretReaders } from './secret-readers.tsx';
import { SecretVersions } from './secret-versions.tsx';

export function SecretPanel({ id, onClose }: { id: string; onClose: () => void }) {
  const record = useRecord<Secret>('secrets', id);
  const [editing, setEditing] = useState(false);
  const may = useMay();
  return (
    <ItemPanel record={record} onClose={onClose} kind="Secret">
      {secret => (
        <>
          {may('secrets:write') && (
            <div className="flex flex-wrap gap-2">
              <Button size="small" onClick={() => setEditing(true)}>
                <Pencil className="size-4" aria-hidden /> Edit
              </Button>
              <DeleteItem item={secret} collection="secrets" onDone={onClose} />
            </div>
          )}
          <PanelPart title="Value">
            <HiddenValue
              key={secret.version}
              what="value"
              mayReveal={may('secrets:reveal')}
              reveal={() => revealSecret(secret.id)}
            />
          </PanelPart>
          <PanelPart title="Details">
            <SecretFacts secret={secret} />
          </PanelPart>
          {may('logs:read') && <SecretReaders key={`readers ${secret.version}`} secret={secret} />}
          <SecretVersions secret={secret} />
          {editing && (
            <SecretForm vaultId={secret.vault_id} secret={secret} onClose={() => setEditing(false)} />
          )}
        </>
      )}
    </ItemPanel>
  );
}

function SecretFacts({ secret }: { secret: Secret }) {
  return (
    <Facts
      facts={[
        ['State', <StateBadge key="state" of={secret} />],
        ['Content type', secret.content_type],
        ['Version', secret.version],
        ['Active from', secret.activation_date ? <Exact key="from" at={secret.activation_date} /> : 'always'],
        ['Expires', <Expiry key="expires" at={secret.expiration_date} />],
        ['Tags', Object.keys(secret.tags).length === 0 ? 'none' : <TagList key="tags" tags={secret.tags} />],
        ['Updated', <Exact key="updated" at={secret.updated_at} />],
        ['Created', <Exact key="created" at={secret.created_at} />],
        ['ID', <IdWithCopy key="id" id={secret.id} />],
      ]}
    />
  );
}

export function IdWithCopy({ id }: { id: string }) {
  return (
    <span className="flex items-center gap-1">
      <Mono>{id}</Mono>
      <CopyButton text={id} label="Copy ID" />
    </span>
  );
}
