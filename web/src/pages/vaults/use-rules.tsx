/** The use rules of a secret or a key: the calls or operations that the service performs with it for agents. */
import { Pencil, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Key, Secret, UseRule } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { PanelPart } from '../../shared/item-panel.tsx';
import { RevokeButton } from '../../shared/revoke-button.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { KeyRuleForm } from './key-rule-form.tsx';
import { UseRuleForm } from './use-rule-form.tsx';

const approvals = { never: 'no approval', writes: 'writes need approval', always: 'needs approval' } as const;

/** A summary of what the rule allows. */
function allowedBy({ methods, hosts, paths, operations, algorithms, jwt }: UseRule): string {
  if (hosts !== null) return [methods?.join(' '), hosts.join(', '), paths?.join(', ')].join(' ');
  const tokens = jwt === null ? '' : `, only tokens from ${jwt.issuer} for ${jwt.audiences.join(', ')}`;
  return `${operations?.join(' ')} ${algorithms?.join(', ')}${tokens}`;
}

type Props = { readonly secret: Secret } | { readonly item: Key };

export function UseRules(props: Props) {
  const may = useMay();
  const [editing, setEditing] = useState<UseRule | 'new' | null>(null);
  const isSecret = 'secret' in props;
  const filter = isSecret ? { secret_id: props.secret.id } : { key_id: props.item.id };
  const list = useList<UseRule>('use-rules', filter);
  const found = list.data?.data ?? [];
  const mayWrite = may('use-rules:write');
  return (
    <PanelPart
      title="Use rules"
      actions={
        mayWrite && (
          <Button size="small" onClick={() => setEditing('new')}>
            <Plus className="size-4" aria-hidden /> New use rule
          </Button>
        )
      }
    >
      {list.isSuccess && found.length === 0 && (
        <p className="text-muted">
          No use rules yet. A use rule lets agents use this {isSecret ? 'secret' : 'key'} without seeing it.
        </p>
      )}
      <ul className="flex flex-col gap-3">
        {found.map(rule => (
          <li key={rule.id} className="flex items-start justify-between gap-3">
            <span className="min-w-0">
              <span className="flex flex-wrap items-center gap-2">
                <span className="font-medium break-words">{rule.name}</span>
                <Badge tone={rule.approval === 'never' ? 'neutral' : 'good'}>
                  {approvals[rule.approval]}
                </Badge>
              </span>
              <span className="block font-mono text-xs break-all text-muted">{allowedBy(rule)}</span>
            </span>
            {mayWrite && (
              <span className="flex shrink-0 gap-1">
                <Button
                  look="quiet"
                  size="icon"
                  aria-label={`Edit ${rule.name}`}
                  onClick={() => setEditing(rule)}
                >
                  <Pencil className="size-4" aria-hidden />
                </Button>
                <RevokeButton
                  collection="use-rules"
                  item={rule}
                  verb="Delete"
                  text="Agents can no longer make calls with it."
                />
              </span>
            )}
          </li>
        ))}
      </ul>
      {editing !== null && (
        <Editing {...props} rule={editing === 'new' ? undefined : editing} onClose={() => setEditing(null)} />
      )}
    </PanelPart>
  );
}

function Editing(props: Props & { rule: UseRule | undefined; onClose: () => void }) {
  return 'secret' in props ? <UseRuleForm {...props} /> : <KeyRuleForm {...props} />;
}
