/** Events and formats in words. */
import type { WebhookFormat } from '../../api/types.ts';

export const formatNames: Readonly<Record<WebhookFormat, string>> = {
  standard: 'A service (Standard Webhooks)',
  slack: 'Slack',
  teams: 'Microsoft Teams',
  discord: 'Discord',
  ntfy: 'ntfy',
  matrix: 'Matrix',
};

const eventNames: Readonly<Record<string, string>> = {
  'resource.created': 'Something was created',
  'resource.updated': 'Something was updated',
  'resource.deleted': 'Something was deleted',
  'resource.near_expiry': 'Something expires soon',
  'resource.expired': 'Something has expired',
  'access_key.created': 'Access key created',
  'access_key.revoked': 'Access key revoked',
  'approval.requested': 'Approval required',
  'role.requested': 'Role requested',
  'role.decided': 'Role request decided',
  'stage.secret_missing': 'Secret missing in a stage',
  'proposal.created': 'Review required',
  'proposal.confirmed': 'Write confirmed',
  'proposal.rejected': 'Write rejected',
  'proposal.expired': 'Review expired',
  'proposal.bypassed': 'Review bypassed',
  'lease.created': 'Short-lived credential issued',
  'lease.revoked': 'Short-lived credential ended',
  'lease.revocation_failed': 'Short-lived credential not removed',
  'run.created': 'Run started',
  'run.ended': 'Run ended',
  'secret.rotated': 'Secret rotated',
  'rotation.failed': 'Rotation failed',
  'webhook.disabled': 'Another webhook disabled',
};

/** The name of an event; a test, or an event of a newer release, by its own. */
export function eventName(kind: string): string {
  if (kind === 'webhook.test') return 'Test message';
  return eventNames[kind] ?? kind;
}
