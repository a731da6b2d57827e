/**
 * The tables, as the typed query builder sees them. Both engines hold the same: times are milliseconds since
 * 1970, flags are 0 or 1, lists and objects are JSON text, sealed values and digests are bytes.
 * A `stamp` is a keyed mark over the row's other columns that decide anything; a `revision` counts the
 * row's changes. Nothing in here is plaintext of a value, a private key, a tag or a credential.
 */
import type { ColumnType, Generated } from 'kysely';

export type Flag = 0 | 1;
type Bytes = Uint8Array;

interface Stamped {
  created_at: number;
  updated_at: number;
  revision: number;
  stamp: Bytes;
}

export interface MetaTable {
  key: string;
  value: Bytes;
}

export interface OrganizationTable extends Stamped {
  id: string;
  name: string;
  plan: string;
  enterprise_limit: number;
}

export interface MemberTable extends Stamped {
  id: string;
  organization_id: string;
  email: string;
  /** The address as it is compared: one spelling for all the ways to write it. */
  email_key: string;
  role: string;
  state: string;
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
  labels: Bytes | null;
  /** A vault's own key, wrapped under a term of the keyring. */
  vault_key: Bytes | null;
  /** The current version; 0 for a vault, which has none. */
  version: number;
  deleted_at: number | null;
}

export interface VersionTable {
  resource_id: string;
  version: number;
  content_type: string | null;
  attributes: string;
  value: Bytes;
  created_at: number;
  created_by: string;
  stamp: Bytes;
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
  digest: Bytes;
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
}

interface Chained {
  /** The order in which entries came to this database; ids may be a little out of it between writers. */
  position: Generated<number>;
  id: string;
  organization_id: string | null;
  writer: string;
  seq: number;
  /** The entry itself, in the very bytes that were hashed. */
  entry: string;
  /** Base64url, like the mark. */
  hash: string;
  mark: string;
}

export interface RequestLogTable extends Chained {
  vault_id: string | null;
  access_key_id: string | null;
  status: number;
  ip_address: string;
}

export interface AuditLogTable extends Chained {
  action: string;
  subject_id: string | null;
  /** The revision that the subject's row has since this entry; null where nothing changed. */
  subject_revision: number | null;
}

export interface LogHeadTable {
  writer: string;
  stream: string;
  seq: number;
  hash: string;
}

export interface LogCountTable {
  organization_id: string;
  stream: string;
  total: number;
}

export interface CheckpointTable {
  number: number;
  body: string;
  signature: Bytes;
}

export interface EventTable {
  id: string;
  organization_id: string;
  vault_id: string | null;
  resource_id: string;
  type: string;
  payload: string;
  created_at: number;
}

export interface RateWindowTable {
  subject_id: string;
  /** The start of the window, in seconds since 1970. */
  window_start: number;
  count: number;
}

export interface McpSessionTable {
  id: string;
  digest: Bytes;
  /** What the client said of itself at `initialize`, and the revision spoken. */
  state: string;
  /** The credential that first used the session; another's is refused. */
  credential_id: string | null;
  created_at: number;
  used_at: ColumnType<number, number, number>;
}

export interface Schema {
  meta: MetaTable;
  organizations: OrganizationTable;
  members: MemberTable;
  resources: ResourceTable;
  versions: VersionTable;
  tags: TagTable;
  counts: CountTable;
  credentials: CredentialTable;
  request_logs: RequestLogTable;
  audit_logs: AuditLogTable;
  log_heads: LogHeadTable;
  log_counts: LogCountTable;
  checkpoints: CheckpointTable;
  events: EventTable;
  rate_windows: RateWindowTable;
  mcp_sessions: McpSessionTable;
}
