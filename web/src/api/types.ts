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

export interface Webhook {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly vault_ids: readonly string[] | null;
  readonly enabled: boolean;
  readonly disabled_reason: 'gone' | 'failing' | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly secret?: string;
}

export interface Delivery {
  readonly id: string;
  readonly webhook_id: string;
  readonly event: string;
  readonly event_id: string;
  readonly resource_id: string;
  readonly vault_id: string | null;
  readonly state: 'pending' | 'delivered' | 'dead';
  readonly attempts: readonly {
    readonly at: string;
    readonly status: number | null;
    readonly duration_ms: number;
    readonly answer: string;
    readonly error: string | null;
  }[];
  readonly next_attempt_at: string | null;
  readonly created_at: string;
  readonly finished_at: string | null;
}
