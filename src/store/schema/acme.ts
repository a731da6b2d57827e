/** The tables of ACME: accounts of clients, and their orders. */
import type { Owned } from './common.ts';

export interface AcmeAccountTable extends Owned {
  vault_id: string;
  profile_id: string;
  /** The access key that it is bound to. */
  access_key_id: string;
  thumbprint: string;
  /** The public key, as JSON. */
  jwk: string;
  /** As JSON. */
  contacts: string;
  state: string;
}

export interface AcmeOrderTable extends Owned {
  vault_id: string;
  profile_id: string;
  account_id: string;
  /** As JSON. */
  names: string;
  state: string;
  expires_at: number;
  certificate_id: string | null;
  /** The certificate that the order replaces. */
  replaces: string | null;
}
