/**
 * The tables, as the typed query builder sees them. Both engines hold the same: times are milliseconds since
 * 1970, flags are 0 or 1, lists and objects are JSON text, sealed values and digests are bytes.
 * A `stamp` is a keyed mark over the row's other columns that decide anything; a `revision` counts the
 * row's changes. Nothing in here is plaintext of a value, a private key, a tag or a credential.
 */
import type { ColumnType, Generated } from 'kysely';
import type { Digest, PublicBytes, Sealed, Stamp } from '../../base/bytes.ts';
import type { Flag, Stamped } from './common.ts';
import type {
  AuditLogTable,
  CheckpointTable,
  LastPositionTable,
  LogCountTable,
  LogHeadTable,
  LogHourTable,
  RequestBlockTable,
  RequestIndexTable,
  UnfiledTable,
} from './logs.ts';
import type {
  AccountTable,
  DeviceLoginTable,
  LockOutTable,
  MemberGroupTable,
  MemberTable,
  OAuthGrantTable,
  OrganizationTable,
  PasskeyTable,
  SessionTable,
  UsedChallengeTable,
} from './people.ts';

export type * from './logs.ts';
export type * from './people.ts';

export interface MetaTable {
  key: string;
  /** The keyring, sealed by the root key; the newest revisions, under a stamp of their own; of the other rows, a mark that something was done. */
  value: Sealed | PublicBytes;
}

export interface ResourceTable extends Stamped {
  id: string;
  organization_id: string;
  /** The vault it lies in; a vault lies in itself. */
  vault_id: string;
  type: string;
  name: string;
  /** The name as it is searched: in lower case. */
  name_search: string;
  enabled: Flag;
  activation_date: number | null;
  expiration_date: number | null;
  content_type: string | null;
  /** What a key or a certificate shows of itself. */
  attributes: string;
  /** Tags and description, sealed; null where there are none. */
  labels: Sealed | null;
  /** A vault's own key, wrapped under a term of the keyring. */
  vault_key: Sealed | null;
  /** The current version; 0 for a vault, which has none. */
  version: number;
  deleted_at: number | null;
}

/** The answer of a vault as it was last read, sealed with the vault's key. */
export interface KeptAnswerTable {
  vault_id: string;
  /** A digest of who may see it and what was asked for. */
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
  /** Blind: a keyed hash of name and value. */
  tag_index: string;
  resource_id: string;
}

/**
 * How many living resources of a type there are, so that a list's total is no scan: one row for each vault,
 * and one for the whole organization, whose `vault_id` is the organization's own id.
 */
export interface CountTable {
  organization_id: string;
  type: string;
  vault_id: string;
  living: number;
}

export interface CredentialTable extends Stamped {
  id: string;
  organization_id: string;
  kind: string;
  name: string;
  name_search: string;
  digest: Digest;
  vault_id: string | null;
  key_id: string | null;
  role: string | null;
  /** Scopes and narrowings. */
  narrowing: string;
  expiration_date: number | null;
  max_uses: number | null;
  created_by: string;
  revoked_at: number | null;
  /** Of a key that has `max_uses`; each use is a revision of the row. */
  uses: number;
  /** For people to look at; decides nothing. */
  last_used_at: number | null;
  /** The identity that an access key was given to, or that a secret id proves. */
  identity_id: string | null;
  /** Of the identity, when it was given the access key: at any other, or without it, the key is over. */
  identity_revision: number | null;
  /** What an access key's holder needs to restrict it, sealed; null for other kinds, and until an older one is used. */
  narrowing_key: Sealed | null;
}

/** A machine that proves who it is, and is given short-lived access keys. */
export interface IdentityTable extends Stamped {
  id: string;
  organization_id: string;
  name: string;
  name_search: string;
  /** How it proves who it is. */
  method: string;
  /** What a proof is judged by. */
  trust: string;
  /** What the access keys show that it is given: vaults and narrowings. */
  narrowing: string;
  /** Of such a key, in seconds. */
  lifetime: number;
  max_uses: number | null;
  expiration_date: number | null;
  created_by: string;
  /** For people to look at; decides nothing. */
  last_login_at: number | null;
}

/** What the service does with a secret or a key for an access key that may use it. */
export interface UseRuleTable extends Stamped {
  id: string;
  organization_id: string;
  vault_id: string;
  /** The secret or the key, and which of the two it is. */
  resource_id: string;
  resource_type: 'secret' | 'key';
  name: string;
  name_search: string;
  /** All that it decides. */
  rule: string;
  created_by: string;
}

/** A call that waits for a person, or that one decided about. */
export interface ApprovalTable extends Stamped {
  id: string;
  organization_id: string;
  vault_id: string;
  rule_id: string;
  access_key_id: string;
  /** Of the very call. */
  fingerprint: string;
  /** Of the access key, the rule at its revision and the version of the secret, which every such call has in common. */
  scope_fingerprint: string;
  /** What is shown of it to whoever decides, sealed with the vault's key. */
  request: Sealed;
  scope: 'call' | 'rule';
  state: 'pending' | 'approved' | 'refused' | 'used';
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
  /** Whether its deliveries were made. */
  fanned: Flag;
  created_at: number;
  stamp: Stamp;
}

export interface WebhookTable extends Stamped {
  id: string;
  organization_id: string;
  name: string;
  url: string;
  /** The kinds that it asks for. */
  events: string;
  /** Only what happens in these vaults; null for all. */
  vault_ids: string | null;
  enabled: Flag;
  disabled_reason: string | null;
  /** Signing secrets, sealed: the current one, and the one before it for as long as both are used. */
  secret: Sealed;
  secret_version: number;
  previous_secret: Sealed | null;
  previous_until: number | null;
}

/** Who works on a webhook's deliveries, and when there is something to do. Bookkeeping that no caller did. */
export interface WebhookQueueTable {
  webhook_id: string;
  /** The position of the last event before the webhook was made: it is told of later ones. */
  begins_after: number;
  /** When the next delivery is due; null where none waits. */
  due_at: number | null;
  /** The receiver asked to be left alone until then. */
  resume_at: number | null;
  /** Since when nothing arrived. */
  failing_since: number | null;
  /** Counts what was added, so that nobody leaves the queue while something arrives. */
  arrivals: number;
  leased_by: string | null;
  /** By the database's own clock. */
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
  /** Since it was last begun: by its event, or again by hand. */
  tries: number;
  attempts: string;
  /** 0 where it was never tried: those go first, in their order. Null once it is finished. */
  next_attempt_at: number | null;
  finished_at: number | null;
  created_at: number;
}

/** What was told about an expiry. The row decides which replica tells it. */
export interface ExpiryNoticeTable {
  resource_id: string;
  version: number;
  expiration_date: number;
  /** 30, 7 or 1 days ahead; 0 once it is expired. */
  days: number;
}

export interface RateWindowTable {
  subject_id: string;
  /** The start of the window, in seconds since 1970. */
  window_start: number;
  count: number;
}

export interface McpSessionTable {
  id: string;
  digest: Digest;
  /** What the client said of itself at `initialize`, and the revision spoken. */
  state: string;
  /** The credential that first used the session; another's is refused. */
  credential_id: string | null;
  created_at: number;
  used_at: ColumnType<number, number, number>;
  stamp: Stamp;
}

/** What was changed lately, for replicas that ask for it (PostgreSQL behind a pooler). */
export interface ChangeTable {
  /** Filled in by the database, as are the transaction that changed it and the time. */
  id: Generated<string>;
  xid: Generated<string>;
  at: Generated<number>;
  /** Ids with commas between them, or `all`. */
  touched: string;
}

export interface Schema {
  meta: MetaTable;
  organizations: OrganizationTable;
  members: MemberTable;
  member_groups: MemberGroupTable;
  resources: ResourceTable;
  versions: VersionTable;
  kept_answers: KeptAnswerTable;
  tags: TagTable;
  counts: CountTable;
  credentials: CredentialTable;
  identities: IdentityTable;
  use_rules: UseRuleTable;
  approvals: ApprovalTable;
  request_blocks: RequestBlockTable;
  request_index: RequestIndexTable;
  unfiled: UnfiledTable;
  audit_logs: AuditLogTable;
  log_heads: LogHeadTable;
  log_counts: LogCountTable;
  checkpoints: CheckpointTable;
  last_positions: LastPositionTable;
  events: EventTable;
  webhooks: WebhookTable;
  webhook_queues: WebhookQueueTable;
  deliveries: DeliveryTable;
  expiry_notices: ExpiryNoticeTable;
  rate_windows: RateWindowTable;
  mcp_sessions: McpSessionTable;
  accounts: AccountTable;
  passkeys: PasskeyTable;
  sessions: SessionTable;
  lock_outs: LockOutTable;
  used_challenges: UsedChallengeTable;
  device_logins: DeviceLoginTable;
  oauth_grants: OAuthGrantTable;
  log_hours: LogHourTable;
  changes: ChangeTable;
}
