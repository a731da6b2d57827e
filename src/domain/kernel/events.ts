/** Events about a change, for webhooks: they name the resource and never contain its value. */
import type { NewId } from '../../contract/id.ts';
import { iso } from '../../contract/text.ts';
import type { EventKind as AskedFor, DisabledReason, testKind } from '../../contract/webhooks.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { WebhookRow } from '../../store/records/webhooks.ts';
import type { EventFacts } from './stamps.ts';

export type EventKind = AskedFor | typeof testKind;

export interface EventSubject {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly organizationId: string;
  readonly vaultId: string | null;
  readonly version?: number;
  /** The expiration date, in events about expiry. */
  readonly expirationDate?: number;
  readonly reason?: DisabledReason;
}

export function eventOf(kind: EventKind, subject: EventSubject, now: number, newId: NewId): EventFacts {
  const { id, type, name, vaultId, version, expirationDate, reason } = subject;
  const data = {
    id,
    type,
    name,
    vault_id: vaultId,
    ...(version ? { version } : {}),
    ...(expirationDate === undefined ? {} : { expiration_date: iso(expirationDate) }),
    ...(reason === undefined ? {} : { reason }),
  };
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

export function resourceSubject(row: ResourceRow): EventSubject {
  return {
    id: row.id,
    type: row.type,
    name: row.name,
    organizationId: row.organization_id,
    vaultId: row.vault_id,
    version: row.version,
  };
}

export function webhookSubject(row: WebhookRow): EventSubject {
  return { id: row.id, type: 'webhook', name: row.name, organizationId: row.organization_id, vaultId: null };
}
