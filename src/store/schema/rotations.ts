/** The tables of the rotation of secrets. */
import type { Sealed } from '../../base/bytes.ts';
import type { Owned } from './common.ts';

/**
 * When something is to be done about a secret that rotates, and which replica does it. What is done follows from the
 * secret's own row and from its rotations.
 */
export interface RotationQueueTable {
  resource_id: string;
  organization_id: string;
  vault_id: string;
  /** When it gets its next value; null if it doesn't rotate any more. For lists. */
  next_at: number | null;
  due_at: number;
  failures: number;
  failing_since: number | null;
  /** Why the last attempt failed, in words that contain nothing secret. */
  reason: string | null;
  claimed_by: string | null;
  /** By the database's clock. */
  claimed_until: number | null;
}

/** A rotation of a secret, from before anything is created until the previous value has ended. */
export interface RotationTable extends Owned {
  vault_id: string;
  resource_id: string;
  kind: string;
  state: string;
  /** The new value until it is used, and what is to be removed, sealed with the vault's key. */
  content: Sealed;
  started_by: string;
  /** The version of the secret that it created. */
  version: number | null;
  overlap_until: number | null;
}
