/** The tables of issuers and leases. */
import type { Sealed } from '../../base/bytes.ts';
import type { Named, Owned } from './common.ts';

export interface IssuerTable extends Named {
  vault_id: string;
  provider: string;
  /** The connection and the template, sealed with the vault's key. */
  content: Sealed;
  /** In seconds, as is the longest life. */
  default_ttl: number;
  max_ttl: number;
  /** `ready`, or `ending` until its last lease is gone. */
  state: string;
  created_by: string;
}

/** Which replica ends the leases of an issuer, and whether its connection fails. Bookkeeping that no caller changes. */
export interface IssuerQueueTable {
  issuer_id: string;
  /** Nothing is attempted before this time. */
  resume_at: number;
  failing_since: number | null;
  failures: number;
  claimed_by: string | null;
  /** By the database's clock. */
  claimed_until: number | null;
}

/** A credential at a provider, from before it is created until after it is removed. */
export interface LeaseTable extends Owned {
  vault_id: string;
  issuer_id: string;
  issuer_name: string;
  access_key_id: string;
  /** Identifies the restrictions that the holder of the access key had added; null if none. */
  narrowing: string | null;
  /** By which the provider finds it, chosen before it is created. */
  account: string;
  state: string;
  ended: string | null;
  expires_at: number;
  /** Until when it can be renewed. */
  ends_at: number;
  /** When something is to be done about it; null once it is gone. */
  due_at: number | null;
  /** Failed attempts to revoke it. */
  attempts: number;
  failing_since: number | null;
}
