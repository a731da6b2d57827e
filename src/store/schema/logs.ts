/** The tables of both logs, and of what is counted by them. */
import type { Generated, GeneratedAlways } from 'kysely';
import type { PublicBytes } from '../../base/bytes.ts';

interface Chained {
  id: string;
  writer: string;
  seq: number;
  /** Base64url, like the mark. */
  hash: string;
  mark: string;
}

/** The vault requests that shared one sync to disk. */
export interface RequestBlockTable extends Chained {
  /** The entries, in the very bytes that were hashed. */
  text: string;
}

/**
 * Where to look for an organization's requests: one row for those entries of a block that agree in all of this.
 * Requests of strangers belong to no organization, and are in nobody's list.
 */
export interface RequestIndexTable {
  organization_id: string;
  block_id: string;
  /** Counts the rows of one block. */
  part: number;
  vault_id: string | null;
  access_key_id: string | null;
  status: number;
  ip_address: string;
  /** How many entries these are. */
  entries: number;
  /** How many requests they stand for, where that is more. */
  requests: number | null;
}

/** Writers whose newest blocks are not in the index yet, and their first such block. */
export interface UnfiledTable {
  writer: string;
  from_id: string;
}

export interface AuditLogTable extends Chained {
  /** The order in which entries became visible in this database; ids may be a little out of it between writers. */
  position: Generated<number>;
  /** The entry itself, in the very bytes that were hashed. What it is found by the database takes from it. */
  entry: string;
  organization_id: GeneratedAlways<string | null>;
  action: GeneratedAlways<string>;
  subject_id: GeneratedAlways<string | null>;
  /** The revision that the subject's row has since this entry; null where nothing changed. */
  subject_revision: GeneratedAlways<number | null>;
}

/** The newest link of a chain; its mark proves that whoever moved it here holds the keyring. */
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

/** The last position that was given to a row of the table of this name. */
export interface LastPositionTable {
  name: string;
  position: number;
}

/** Vault requests counted by the hour, so that the overview is no scan of the log. */
export interface LogHourTable {
  organization_id: string;
  /** The hour's start, in milliseconds since 1970. */
  hour: number;
  /** `all`, `vault`, `access-key` or `address`, which counts failures alone. */
  kind: string;
  subject: string;
  successes: number;
  failures: number;
}
