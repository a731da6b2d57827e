/** Events about a change, for webhooks: they name the resource and never contain its value. */
import type { NewId } from '../../contract/id.ts';
import type { EventKind as AskedFor, DisabledReason, testKind } from '../../contract/names.ts';
import { iso } from '../../contract/text.ts';
import type { WebhookRow } from '../../store/records/webhooks.ts';
import type { EventFacts } from './stamps.ts';

export type EventKind = AskedFor | typeof testKind;

/** A row as events tell of it; its other columns don't matter. */
export interface EventSubject {
  readonly id: string;
  readonly type: string;
  readonly name: string;
  readonly organization_id: string;
  readonly vault_id: string | null;
  readonly version?: number;
  /** The expiration date, in events about expiry. */
  readonly expirationDate?: number;
  readonly reason?: DisabledReason;
  /** In events about a request for a role. */
  readonly requested?: { readonly role: string; readonly until: string; readonly state?: string };
  /** In events about a stage: the secret's name, and where it is missing and present. */
  readonly missing?: { readonly secret: string; readonly missing_in: string; readonly present_in: string };
}

export function eventOf(kind: EventKind, subject: EventSubject, now: number, newId: NewId): EventFacts {
  const { id, type, name, organization_id, vault_id, version, expirationDate, reason, requested, missing } =
    subject;
  const data = {
    id,
    type,
    name,
    vault_id,
    ...(version ? { version } : {}),
    ...(expirationDate === undefined ? {} : { expiration_date: iso(expirationDate) }),
    ...(reason === undefined ? {} : { reason }),
    ...requested,
    ...missing,
  };
  return {
    id: newId(),
    organization_id,
    vault_id,
    resource_id: id,
    type: kind,
    payload: JSON.stringify({ type: kind, timestamp: iso(now), data }),
    created_at: now,
  };
}

export function webhookSubject(row: WebhookRow): EventSubject {
  return { ...row, type: 'webhook', vault_id: null };
}
