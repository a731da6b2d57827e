/** The tables of runs. */
import type { Owned } from './common.ts';

/** What an agent does for one purpose, with access keys that end with it. */
export interface RunTable extends Owned {
  purpose: string;
  /** The vaults, each with the access key that the run has in it, as JSON. */
  access_keys: string;
  /** The ids of the use rules that it is restricted to, as JSON; null if it is not. */
  rules: string | null;
  /** How much it may do, as JSON. */
  budgets: string;
  /** What was counted; bytes only if they are limited. */
  uses: number;
  writes: number;
  bytes: number;
  /** Who ended it; null for the service, at its end. */
  state: 'active' | 'ended' | 'expired';
  ended_by: string | null;
  ends_at: number;
  /** The person and the client that it was created for, if they are known. */
  member_id: string | null;
  client: string | null;
  created_by: string;
}

/** By which the run of an access key is found; the run's own row says which access keys it has. */
export interface RunAccessKeyTable {
  access_key_id: string;
  run_id: string;
  vault_id: string;
}
