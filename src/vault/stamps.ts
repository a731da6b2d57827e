/**
 * Which rows may be believed. A row's stamp covers every column that decides anything, so that an edit in the
 * database shows. Its revision must also be the newest that the audit log knows of: a stamp alone would
 * let someone put back an older row that once was true. What isn't believed is an error, never an answer.
 */
import { Failure } from '../contract/errors.ts';
import type { Keyring, StampField } from '../keyring/keyring.ts';
import type { AccountRow, PasskeyRow, SessionRow } from '../store/accounts.ts';
import type { AuditedCredential, CredentialRow } from '../store/credentials.ts';
import type { Audited, MemberRow, OrganizationRow } from '../store/organizations.ts';
import type { EventRow } from '../store/outbox.ts';
import type { AuditedResource, ResourceRow, VersionRow } from '../store/resources.ts';
import type { WebhookRow } from '../store/webhooks.ts';

type Unstamped<Row> = Omit<Row, 'stamp'>;
type FieldsOf<Row> = (row: Unstamped<Row>) => StampField[];

interface Revised {
  readonly stamp: Uint8Array;
  readonly revision: number;
  readonly updated_at: number;
}

const resourceFields: FieldsOf<ResourceRow> = row => [
  row.id,
  row.organization_id,
  row.vault_id,
  row.type,
  row.name,
  row.enabled,
  row.activation_date,
  row.expiration_date,
  row.content_type,
  row.attributes,
  row.labels,
  row.vault_key,
  row.version,
  row.deleted_at,
  row.created_at,
  row.updated_at,
  row.revision,
];

const versionFields: FieldsOf<VersionRow> = row => [
  row.resource_id,
  row.version,
  row.content_type,
  row.attributes,
  row.created_at,
  row.created_by,
];

const credentialFields: FieldsOf<CredentialRow> = row => [
  row.id,
  row.organization_id,
  row.kind,
  row.name,
  row.digest,
  row.vault_id,
  row.key_id,
  row.role,
  row.narrowing,
  row.expiration_date,
  row.max_uses,
  row.uses,
  row.created_by,
  row.revoked_at,
  row.created_at,
  row.updated_at,
  row.revision,
];

const organizationFields: FieldsOf<OrganizationRow> = row => [
  row.id,
  row.name,
  row.plan,
  row.enterprise_limit,
  row.created_at,
  row.updated_at,
  row.revision,
];

const memberFields: FieldsOf<MemberRow> = row => [
  row.id,
  row.organization_id,
  row.email,
  row.email_key,
  row.role,
  row.state,
  row.created_at,
  row.updated_at,
  row.revision,
];

const accountFields: FieldsOf<AccountRow> = row => [
  row.id,
  row.organization_id,
  row.member_id,
  row.password,
  row.totp,
  row.totp_pending,
  row.totp_step,
  row.recovery,
  row.invitation,
  row.invitation_expires,
  row.epoch,
  row.created_at,
  row.updated_at,
  row.revision,
];

const passkeyFields: FieldsOf<PasskeyRow> = row => [
  row.id,
  row.organization_id,
  row.member_id,
  row.name,
  row.credential_id,
  row.public_key,
  row.transports,
  row.counter,
  row.created_at,
  row.updated_at,
  row.revision,
];

const sessionFields: FieldsOf<SessionRow> = row => [
  row.id,
  row.organization_id,
  row.member_id,
  row.digest,
  row.epoch,
  row.method,
  row.ip_address,
  row.user_agent,
  row.created_at,
  row.updated_at,
  row.revision,
];

const webhookFields: FieldsOf<WebhookRow> = row => [
  row.id,
  row.organization_id,
  row.name,
  row.url,
  row.events,
  row.vault_ids,
  row.enabled,
  row.disabled_reason,
  row.secret,
  row.secret_version,
  row.previous_secret,
  row.previous_until,
  row.created_at,
  row.updated_at,
  row.revision,
];

/** What an event says and to whom it may be said; not whether that was done. */
export type EventFacts = Omit<EventRow, 'fanned' | 'stamp'>;

const eventFields = (event: EventFacts): StampField[] => [
  event.id,
  event.organization_id,
  event.vault_id,
  event.resource_id,
  event.type,
  event.payload,
  event.created_at,
];

/** A kind of row that is stamped when written and believed when read. */
export interface Stamper<Row> {
  stamp(row: Unstamped<Row>): Row;
  /** The next revision of a row. */
  revise(before: Row, changes: Partial<Row>, now: number): Row;
  /** Throws where a row is not to be believed. */
  check(row: Row & Audited): void;
  /** The row without what only tells whether it is to be believed. */
  believe<R extends Row & Audited>(row: R): Omit<R, keyof Audited>;
}

export interface Stamps {
  readonly resource: Stamper<ResourceRow>;
  readonly credential: Stamper<CredentialRow>;
  readonly organization: Stamper<OrganizationRow>;
  readonly member: Stamper<MemberRow>;
  readonly account: Stamper<AccountRow>;
  readonly passkey: Stamper<PasskeyRow>;
  readonly session: Stamper<SessionRow>;
  readonly webhook: Stamper<WebhookRow>;
  stampEvent(event: EventFacts): EventRow;
  believeEvent<E extends EventFacts & { readonly stamp: Uint8Array }>(event: E): E;
  stampVersion(row: Unstamped<VersionRow>): VersionRow;
  believeVersion(row: VersionRow): VersionRow;
}

export function stampsWith(keyring: Keyring): Stamps {
  function stamper<Row extends Revised>(kind: string, fields: FieldsOf<Row>): Stamper<Row> {
    const stamp = (row: Unstamped<Row>) =>
      ({ ...row, stamp: keyring.stamp(kind, fields(row)) }) as unknown as Row;
    const check = (row: Row & Audited) => {
      if (!keyring.stampHolds(kind, fields(row), row.stamp)) {
        throw tampered(`${kind}: the stamp does not hold`);
      }
      if (row.audited_revision !== row.revision) throw tampered(`${kind}: not the newest revision`);
    };
    return {
      stamp,
      check,
      revise: (before, changes, now) =>
        stamp({ ...before, ...changes, updated_at: now, revision: before.revision + 1 }),
      believe: row => {
        check(row);
        const { audited_revision, ...believed } = row;
        return believed;
      },
    };
  }

  return {
    resource: stamper<ResourceRow>('resource', resourceFields),
    credential: stamper<CredentialRow>('credential', credentialFields),
    organization: stamper<OrganizationRow>('organization', organizationFields),
    member: stamper<MemberRow>('member', memberFields),
    account: stamper<AccountRow>('account', accountFields),
    passkey: stamper<PasskeyRow>('passkey', passkeyFields),
    session: stamper<SessionRow>('session', sessionFields),
    webhook: stamper<WebhookRow>('webhook', webhookFields),
    stampEvent: event => ({ ...event, fanned: 0, stamp: keyring.stamp('event', eventFields(event)) }),
    believeEvent: event => {
      if (keyring.stampHolds('event', eventFields(event), event.stamp)) return event;
      throw tampered('event: the stamp does not hold');
    },
    stampVersion: row => ({ ...row, stamp: keyring.stamp('version', versionFields(row)) }),
    believeVersion: row => {
      if (!keyring.stampHolds('version', versionFields(row), row.stamp)) {
        throw tampered('version: the stamp does not hold');
      }
      return row;
    },
  };
}

export type { AuditedCredential, AuditedResource };

export function tampered(what: string): Failure {
  return new Failure('INTERNAL_ERROR', { cause: new Error(`stored data is not as it was written: ${what}`) });
}
