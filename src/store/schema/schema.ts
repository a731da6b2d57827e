/**
 * The tables as the typed query builder sees them, the same for both engines: times are milliseconds since 1970, flags
 * are 0 or 1, lists and objects are JSON text, sealed values and digests are bytes. A `stamp` is a keyed mark over the
 * other columns of the row that matter; a `revision` counts the row's changes. No column contains the plaintext of a
 * value, a private key, a tag or a credential.
 */
import type { ColumnType, Generated } from 'kysely';
import type { Digest, PublicBytes, Sealed, Stamp } from '../../base/bytes.ts';
import type { AcmeAccountTable, AcmeOrderTable } from './acme.ts';
import type { AuthorityTable, IssuedCertificateTable, ProfileTable } from './authorities.ts';
import type { Flag, Named, Owned } from './common.ts';
import type { IssuerQueueTable, IssuerTable, LeaseTable } from './leases.ts';
import type { LogTables } from './logs.ts';
import type { PeopleTables } from './people.ts';
import type { RotationQueueTable, RotationTable } from './rotations.ts';
import type { RunAccessKeyTable, RunTable } from './runs.ts';

export type * from './logs.ts';
export type * from './people.ts';

interface MetaTable {
  key: string;
  /**
   * The keyring, sealed with the root key; the newest revisions, with their own stamp; in the other rows, a marker that
   * something was done.
   */
  value: Sealed | PublicBytes;
}

export interface ResourceTable extends Named {
  /** The vault that contains it; for a vault, its own id. */
  vault_id: string;
  type: string;
  enabled: Flag;
  activation_date: number | null;
  expiration_date: number | null;
  content_type: string | null;
  /** The public properties of a key or a certificate. */
  attributes: string;
  /** Tags and description, sealed; null if there are none. */
  labels: Sealed | null;
  /** A vault's own key, wrapped with a keyring version. */
  vault_key: Sealed | null;
  /** The current version; 0 for a vault, which has none. */
  version: number;
  deleted_at: number | null;
}

/** Vaults in an order, such as development, staging and production. */
export interface StageTable extends Named {
  /** In their order. */
  vault_ids: string;
}

/** A secret that was reported as missing in the last vault of a stage. */
interface StageNoticeTable {
  stage_id: string;
  name: string;
}

/** An organization whose stages may still be in tags of its vaults. */
interface StageTagTable {
  organization_id: string;
}

/** A cached answer to a vault read, sealed with the vault's key. */
export interface KeptAnswerTable {
  vault_id: string;
  /** A digest of who may see it and what was requested. */
  answer: string;
  sealed: Sealed;
  read_at: number;
}

export interface VersionTable {
  resource_id: string;
  version: number;
  content_type: string | null;
  attributes: string;
  value: Sealed;
  created_at: number;
  created_by: string;
  stamp: Stamp;
}

export interface TagTable {
  organization_id: string;
  /** A keyed hash of name and value. */
  tag_index: string;
  resource_id: string;
}

/**
 * The number of resources per type that are not deleted, so that totals need no scan: one row per vault, and one for
 * the whole organization, whose `vault_id` is the organization's own id.
 */
interface CountTable {
  organization_id: string;
  type: string;
  vault_id: string;
  living: number;
}

/** Which secret a template refers to: an index of what the stamped rows of the templates say. */
export interface ReferenceTable {
  referrer_id: string;
  target_id: string;
}

export interface CredentialTable extends Named {
  kind: string;
  digest: Digest;
  vault_id: string | null;
  key_id: string | null;
  role: string | null;
  /** Scopes and restrictions. */
  narrowing: string;
  expiration_date: number | null;
  max_uses: number | null;
  created_by: string;
  revoked_at: number | null;
  /** For a key with `max_uses`. Each use is a new revision of the row. */
  uses: number;
  /** Only for display. */
  last_used_at: number | null;
  /** The identity that an access key was issued to, or that a secret id proves. */
  identity_id: string | null;
  /**
   * The identity's revision when the access key was issued. The key is invalid at any other revision, or without the
   * identity.
   */
  identity_revision: number | null;
  /**
   * The key with which an access key's holder can restrict it, sealed. Null for other kinds, and for older access keys
   * until they are used.
   */
  narrowing_key: Sealed | null;
}

/** A machine that proves its identity and receives short-lived access keys. */
export interface IdentityTable extends Named {
  /** The method of proof. */
  method: string;
  /** What a proof is checked against. */
  trust: string;
  /** What its access keys permit: vaults and restrictions. */
  narrowing: string;
  /** The lifetime of these keys, in seconds. */
  lifetime: number;
  max_uses: number | null;
  expiration_date: number | null;
  created_by: string;
  /** Only for display. */
  last_login_at: number | null;
}

/** A rule by which the service uses a secret or a key on behalf of an access key. */
export interface UseRuleTable extends Named {
  vault_id: string;
  /** The secret or key, and its type. */
  resource_id: string;
  resource_type: 'secret' | 'key';
  /** Everything that determines what the rule allows. */
  rule: string;
  created_by: string;
}

/** A call that needs approval, or about which a person has decided. */
export interface ApprovalTable extends Owned {
  vault_id: string;
  rule_id: string;
  access_key_id: string;
  /** Identifies this exact call. */
  fingerprint: string;
  /**
   * Identifies the access key, the rule at its revision and the version of the secret, which are the same for all such
   * calls.
   */
  scope_fingerprint: string;
  /** What the approver sees, sealed with the vault's key. */
  request: Sealed;
  scope: 'call' | 'shape' | 'rule';
  state: 'pending' | 'approved' | 'refused' | 'used' | 'cancelled';
  decided_by: string | null;
  expires_at: number;
}

/** Writes to a vault with review that wait for someone else to confirm them, or about which someone has decided. */
export interface ProposalTable extends Owned {
  vault_id: string;
  author_kind: 'member' | 'api-key' | 'access-key';
  author_id: string;
  /** The writes and what is shown of them, sealed with the vault's key. Once decided, without values. */
  content: Sealed;
  state: 'pending' | 'confirmed' | 'rejected' | 'expired' | 'bypassed';
  /** Who confirmed or rejected it. */
  decided_by: string | null;
  expires_at: number;
}

export interface EventTable {
  /** The order in which events became visible. */
  position: Generated<number>;
  id: string;
  organization_id: string;
  vault_id: string | null;
  resource_id: string;
  type: string;
  payload: string;
  /** Whether its deliveries were created. */
  fanned: Flag;
  created_at: number;
  stamp: Stamp;
}

export interface WebhookTable extends Owned {
  name: string;
  url: string;
  /** The types of event that it subscribes to. */
  events: string;
  /** Limits it to events in these vaults; null for all. */
  vault_ids: string | null;
  enabled: Flag;
  disabled_reason: string | null;
  /** Signing secrets, sealed: the current one, and the previous one while both are in use. */
  secret: Sealed;
  secret_version: number;
  previous_secret: Sealed | null;
  previous_until: number | null;
  /** The form of its messages; null for Standard Webhooks. */
  format: string | null;
}

/**
 * Which replica works on a webhook's deliveries, and when the next is due. Internal bookkeeping that no caller changes.
 */
export interface WebhookQueueTable {
  webhook_id: string;
  /** The position of the last event before the webhook was created. It receives only later ones. */
  begins_after: number;
  /** When the next delivery is due; null if none is waiting. */
  due_at: number | null;
  /** The receiver asked for no deliveries before this time. */
  resume_at: number | null;
  /** When deliveries began to fail without a success since. */
  failing_since: number | null;
  /** Counts additions, so that a queue is not left while a delivery arrives. */
  arrivals: number;
  leased_by: string | null;
  /** By the database's clock. */
  leased_until: number | null;
}

export interface DeliveryTable {
  id: string;
  organization_id: string;
  webhook_id: string;
  event_id: string;
  event_position: number;
  event: string;
  vault_id: string | null;
  resource_id: string;
  state: string;
  /** Since the delivery was last started: by its event, or manually. */
  tries: number;
  attempts: string;
  /** 0 if it was never tried: these go first, in order. Null once it is finished. */
  next_attempt_at: number | null;
  finished_at: number | null;
  created_at: number;
}

/** A notice about an expiry. The row determines which replica sends it. */
export interface ExpiryNoticeTable {
  resource_id: string;
  version: number;
  expiration_date: number;
  /** 30, 7 or 1 days in advance; 0 after the expiry. */
  days: number;
}

interface RateWindowTable {
  subject_id: string;
  /** The start of the window, in seconds since 1970. */
  window_start: number;
  count: number;
}

export interface McpSessionTable {
  id: string;
  digest: Digest;
  /** The client's description of itself in `initialize`, and the protocol revision. */
  state: string;
  /** The credential that opened the session; any other is refused. Null if it was opened without one. */
  credential_id: string | null;
  created_at: number;
  used_at: ColumnType<number, number, number>;
  stamp: Stamp;
}

/** Recent changes, for replicas that poll for them (PostgreSQL behind a pooler). */
interface ChangeTable {
  /** Filled in by the database, like the transaction and the time. */
  id: Generated<string>;
  xid: Generated<string>;
  at: Generated<number>;
  /** Ids separated by commas, or `all`. */
  touched: string;
}

export interface Schema extends LogTables, PeopleTables {
  meta: MetaTable;
  resources: ResourceTable;
  stages: StageTable;
  stage_notices: StageNoticeTable;
  stage_tags: StageTagTable;
  versions: VersionTable;
  kept_answers: KeptAnswerTable;
  tags: TagTable;
  counts: CountTable;
  secret_references: ReferenceTable;
  credentials: CredentialTable;
  identities: IdentityTable;
  use_rules: UseRuleTable;
  approvals: ApprovalTable;
  proposals: ProposalTable;
  issuers: IssuerTable;
  issuer_queues: IssuerQueueTable;
  leases: LeaseTable;
  authorities: AuthorityTable;
  profiles: ProfileTable;
  issued_certificates: IssuedCertificateTable;
  runs: RunTable;
  run_access_keys: RunAccessKeyTable;
  acme_accounts: AcmeAccountTable;
  acme_orders: AcmeOrderTable;
  rotation_queues: RotationQueueTable;
  rotations: RotationTable;
  events: EventTable;
  webhooks: WebhookTable;
  webhook_queues: WebhookQueueTable;
  deliveries: DeliveryTable;
  expiry_notices: ExpiryNoticeTable;
  rate_windows: RateWindowTable;
  mcp_sessions: McpSessionTable;
  changes: ChangeTable;
}
