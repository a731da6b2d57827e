/** The shapes that the pages work with: the service's own contract, and what the sign-in answers. */
import type { Plan } from '../../../src/contract/access.ts';

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

interface Counted {
  readonly id: string;
  readonly name: string;
  readonly reads: number;
}

export interface Overview {
  readonly reads: readonly { readonly at: string; readonly success: number; readonly failure: number }[];
  readonly busiest_vaults: readonly Counted[];
  readonly busiest_keys: readonly (Counted & { readonly vault_id: string })[];
  readonly failed_addresses: readonly { readonly ip_address: string; readonly failures: number }[];
  readonly expiring: readonly {
    readonly id: string;
    readonly type: 'secret' | 'key' | 'certificate';
    readonly name: string;
    readonly vault_id: string;
    readonly expires_at: string;
  }[];
  readonly unused_keys: readonly {
    readonly id: string;
    readonly name: string;
    readonly type: string;
    readonly vault_id: string | null;
    readonly last_used_at: string | null;
  }[];
  readonly webhooks: { readonly total: number; readonly failing: number; readonly disabled: number };
  readonly counts: Readonly<Record<string, number>>;
  readonly plan: { readonly name: Plan; readonly limit: number | null; readonly used: number };
}

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
