/** The tables of both logs, and of their counts. */
import type { Generated, GeneratedAlways } from 'kysely';
import type { PublicBytes } from '../../base/bytes.ts';

interface Chained {
  id: string;
  writer: string;
  seq: number;
  /** Base64url, like `mark`. */
  hash: string;
  mark: string;
}

/** The vault requests that shared one sync to disk. */
export interface RequestBlockTable extends Chained {
  /** The entries, exactly as they were hashed. */
  text: string;
}

/**
 * The index for finding an organization's requests: one row per group of entries in a block that agree in all these
 * columns. Requests without a valid credential belong to no organization, and appear in no list.
 */
export interface RequestIndexTable {
  organization_id: string;
  block_id: string;
  /** Numbers the rows of one block. */
  part: number;
  vault_id: string | null;
  access_key_id: string | null;
  status: number;
  ip_address: string;
  /** The number of entries in the group. */
  entries: number;
  /** The number of requests they represent, if greater. */
  requests: number | null;
}

/** Writers whose newest blocks are not indexed yet, with the first such block. */
export interface UnfiledTable {
  writer: string;
  from_id: string;
}

export interface AuditLogTable extends Chained {
  /**
   * The order in which entries became visible in this database. The ids of different writers may deviate from it
   * slightly.
   */
  position: Generated<number>;
  /** The entry, exactly as it was hashed. The database derives the columns below from it. */
  entry: string;
  organization_id: GeneratedAlways<string | null>;
  action: GeneratedAlways<string>;
  subject_id: GeneratedAlways<string | null>;
  /** The revision of the subject's row after this entry; null if nothing changed. */
  subject_revision: GeneratedAlways<number | null>;
}

/** The newest link of a chain. Its mark proves that it was written with the keyring. */
export interface LogHeadTable {
  writer: string;
  stream: string;
  seq: number;
  hash: string;
  mark: string;
}

export interface LogCountTable {
  organization_id: string;
  stream: string;
  total: number;
}

export interface CheckpointTable {
  number: number;
  body: string;
  signature: PublicBytes;
}

/** The last position assigned in the table of this name. */
export interface LastPositionTable {
  name: string;
  position: number;
}

/** Vault requests per hour, so that the overview does not scan the log. */
export interface LogHourTable {
  organization_id: string;
  /** The hour's start, in milliseconds since 1970. */
  hour: number;
  /** `all`, `vault`, `access-key`, or `address`, which counts only failures. */
  kind: string;
  subject: string;
  successes: number;
  failures: number;
}

export interface LogTables {
  request_blocks: RequestBlockTable;
  request_index: RequestIndexTable;
  unfiled: UnfiledTable;
  audit_logs: AuditLogTable;
  log_heads: LogHeadTable;
  log_counts: LogCountTable;
  checkpoints: CheckpointTable;
  last_positions: LastPositionTable;
  log_hours: LogHourTable;
}
