/** The use rules of a secret: which calls the service makes with it for agents. */
import { Pencil, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Secret, UseRule } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { RevokeButton } from '../access/revoke-button.tsx';
import { PanelPart } from './item-panel.tsx';
import { UseRuleForm } from './use-rule-form.tsx';

const approvals = { never: 'no approval', writes: 'writes need approval', always: 'needs approval' } as const;

export function UseRules({ secret }: { secret: Secret }) {
  const may = useMay();
  const [editing, setEditing] = useState<UseRule | 'new' | null>(null);
  const list = useList<UseRule>('use-rules', { secret_id: secret.id });
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
          No use rules yet. With one, an agent can use this secret without seeing it.
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
              <span className="block font-mono text-xs break-all text-muted">
                {rule.methods?.join(' ')} {rule.hosts?.join(', ')} {rule.paths?.join(', ')}
              </span>
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
                  text="Agents can make no more calls under it."
                />
              </span>
            )}
          </li>
        ))}
      </ul>
      {editing !== null && (
        <UseRuleForm
          secret={secret}
          rule={editing === 'new' ? undefined : editing}
          onClose={() => setEditing(null)}
        />
      )}
    </PanelPart>
  );
}
