/** What is told to the outside about a change: which resource, never what is in it. */
import type { NewId } from '../contract/id.ts';
import { iso } from '../contract/text.ts';
import type { EventRow } from '../store/outbox.ts';

export type EventKind =
  | 'resource.created'
  | 'resource.updated'
  | 'resource.deleted'
  | 'resource.near_expiry'
  | 'resource.expired'
  | 'access_key.created'
  | 'access_key.revoked';

export interface EventSubject {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly organizationId: string;
  readonly vaultId: string | null;
  readonly version?: number;
}

export function eventRow(kind: EventKind, subject: EventSubject, now: number, newId: NewId): EventRow {
  const { id, type, name, vaultId, version } = subject;
  const data = { id, type, name, vault_id: vaultId, ...(version ? { version } : {}) };
  return {
    id: newId(),
    organization_id: subject.organizationId,
    vault_id: vaultId,
    resource_id: id,
    type: kind,
    payload: JSON.stringify({ type: kind, timestamp: iso(now), data }),
    created_at: now,
  };
}
