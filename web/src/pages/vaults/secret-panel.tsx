/** One secret: its value or one-time code on demand, its note, dates and tags, its use rules, readers and versions. */
import { Pencil } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { sentence } from '../../api/client.ts';
import type { Secret } from '../../api/types.ts';
import { useRecord } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { DeleteItem, ItemPanel, PanelPart } from '../../shared/item-panel.tsx';
import { Who } from '../../shared/who.tsx';
import { useAddress } from '../../ui/address.ts';
import { TagList } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Expiry, StateBadge } from '../../ui/expiry.tsx';
import { Facts, Mono } from '../../ui/facts.tsx';
import { Exact } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import { HiddenValue } from './hidden-value.tsx';
import { OneTimeCode } from './one-time-code.tsx';
import { revealSecret, revealText } from './reveal.ts';
import { EditSecret } from './secret-form.tsx';
import { Reached, SecretReferences } from './secret-links.tsx';
import { SecretReaders } from './secret-readers.tsx';
import { SecretVersions } from './secret-versions.tsx';
import { UseRules } from './use-rules.tsx';

const Markdown = lazy(() => import('../../ui/markdown.tsx'));
const SecretRotation = lazy(() => import('./secret-rotation.tsx'));

export function SecretPanel({ id, onClose }: { id: string; onClose: () => void }) {
  const record = useRecord<Secret>('secrets', id);
  const may = useMay();
  const { get } = useAddress();
  const [editing, setEditing] = useState<Editing | null>(
    get('edit') !== '' && may('secrets:write') ? { value: null } : null,
  );
  return (
    <ItemPanel record={record} onClose={onClose} kind="Secret">
      {secret =>
        editing === null ? (
          <Shown secret={secret} onEdit={setEditing} onClose={onClose} />
        ) : (
          <EditSecret secret={secret} current={editing.value} onClose={() => setEditing(null)} />
        )
      }
    </ItemPanel>
  );
}

/** The initial value of the form: null if the person may not reveal it. */
interface Editing {
  readonly value: string | null;
}

interface ShownProps {
  readonly secret: Secret;
  readonly onEdit: (editing: Editing) => void;
  readonly onClose: () => void;
}

function Shown({ secret, onEdit, onClose }: ShownProps) {
  const may = useMay();
  return (
    <>
      {may('secrets:write') && (
        <div className="flex flex-wrap gap-2">
          <EditButton secret={secret} onEdit={onEdit} />
          <DeleteItem
            item={secret}
            collection="secrets"
            onDone={onClose}
            reached={<Reached secret={secret} deleted />}
          />
        </div>
      )}
      <PanelPart title="Value">
        <HiddenValue
          key={secret.version}
          what="value"
          mayReveal={may('secrets:reveal')}
          reveal={() => revealSecret(secret.id)}
        />
        {may('secrets:reveal') && <OneTimeCode key={`code ${secret.version}`} secretId={secret.id} />}
      </PanelPart>
      {secret.note !== '' && (
        <PanelPart title="Note">
          <Suspense fallback={<p className="text-sm break-words whitespace-pre-wrap">{secret.note}</p>}>
            <Markdown text={secret.note} />
          </Suspense>
        </PanelPart>
      )}
      <PanelPart title="Details">
        <SecretFacts secret={secret} />
      </PanelPart>
      {secret.rotation !== null && (
        <Suspense fallback={null}>
          <SecretRotation key={`rotation ${secret.version}`} secret={secret} />
        </Suspense>
      )}
      <SecretReferences secret={secret} />
      <UseRules secret={secret} />
      {may('logs:read') && <SecretReaders key={`readers ${secret.version}`} secret={secret} />}
      <SecretVersions secret={secret} />
    </>
  );
}

/** Reveals the value before editing, so that it need not be retyped. */
function EditButton({ secret, onEdit }: Omit<ShownProps, 'onClose'>) {
  const may = useMay();
  const [busy, setBusy] = useState(false);
  async function edit() {
    if (!may('secrets:reveal')) return onEdit({ value: null });
    setBusy(true);
    await revealText(secret.id).then(
      value => onEdit({ value }),
      error => {
        setBusy(false);
        note(sentence(error), { bad: true });
      },
    );
  }
  return (
    <Button
      size="small"
      busy={busy}
      onClick={edit}
      title={may('secrets:reveal') ? 'Reveals the current value, which is recorded' : undefined}
    >
      <Pencil className="size-4" aria-hidden /> Edit
    </Button>
  );
}

function SecretFacts({ secret }: { secret: Secret }) {
  return (
    <Facts
      facts={[
        ['State', <StateBadge key="state" of={secret} />],
        ['Kind', secret.kind === 'template' ? 'template, with references to other secrets' : 'value'],
        ['Content type', secret.content_type],
        ['Version', secret.version],
        ['Active from', secret.activation_date ? <Exact key="from" at={secret.activation_date} /> : 'always'],
        ['Expires', <Expiry key="expires" at={secret.expiration_date} />],
        ['Tags', Object.keys(secret.tags).length === 0 ? 'none' : <TagList key="tags" tags={secret.tags} />],
        ['Owner', secret.owner_id ? <Who key="owner" id={secret.owner_id} /> : 'none'],
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
