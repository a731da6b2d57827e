/** The state of a webhook and, if it is disabled, the reason. */
import type { Webhook } from '../../api/types.ts';
import { Badge } from '../../ui/badge.tsx';
import { ago } from '../../ui/time.tsx';

export function WebhookState({ webhook }: { webhook: Webhook }) {
  const { enabled, disabled_reason, failing_since } = webhook;
  if (enabled && failing_since !== null) return <Badge tone="bad">failing since {ago(failing_since)}</Badge>;
  if (enabled) return <span className="text-muted">enabled</span>;
  if (disabled_reason === null) return <Badge>disabled</Badge>;
  return (
    <Badge tone="bad">
      {disabled_reason === 'gone' ? 'disabled: endpoint gone' : 'disabled: deliveries failed'}
    </Badge>
  );
}
