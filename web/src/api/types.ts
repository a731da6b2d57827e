/** The shapes that the pages work with: the service's own contract, and what the sign-in answers. */
export type {
  AccessKey,
  ApiKey,
  Member,
  Organization,
  Plan,
  PublicToken,
} from '../../../src/contract/access.ts';
export type { AuthState, PasskeyRecord, Session, SignedIn } from '../../../src/contract/auth.ts';
export type { List } from '../../../src/contract/common.ts';
export type { AuditLog, RequestLog } from '../../../src/contract/logs.ts';
export type { About as AboutRecord, Overview } from '../../../src/contract/overview.ts';
export type {
  BulkAnswer,
  Certificate,
  GenericResource,
  Key,
  ResourceType,
  RevealedKey,
  RevealedSecret,
  Secret,
  Vault,
  Version,
} from '../../../src/contract/resources.ts';

export type { Delivery, Webhook } from '../../../src/contract/webhooks.ts';

export const roles = ['owner', 'admin', 'editor', 'viewer', 'auditor'] as const;
export type Role = (typeof roles)[number];

export const eventKinds = [
  'resource.created',
  'resource.updated',
  'resource.deleted',
  'resource.near_expiry',
  'resource.expired',
  'access_key.created',
  'access_key.revoked',
  'webhook.disabled',
] as const;
