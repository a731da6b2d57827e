/** The tables of certificate authorities, their profiles, and the certificates that they issued. */
import type { Sealed } from '../../base/bytes.ts';
import type { Named, Owned } from './common.ts';

export interface AuthorityTable extends Named {
  vault_id: string;
  kind: string;
  /** The authority of this organization that signed its certificate; null if it is a root, or signed elsewhere. */
  parent_id: string | null;
  subject: string;
  /** The private key, sealed with the vault's key. */
  key: Sealed;
  /** The public key, SPKI. */
  public_pem: string;
  /** Null until a certificate that was signed elsewhere is brought back. */
  certificate: string | null;
  /** The certificates of the authorities above it. */
  chain: string;
  /** For an authority elsewhere to sign. */
  request: string | null;
  expires_at: number | null;
  created_by: string;
}

export interface ProfileTable extends Named {
  vault_id: string;
  authority_id: string;
  /** Patterns, as JSON. */
  allowed_names: string;
  max_days: number;
  /** As JSON. */
  usages: string;
  /** How certificates are obtained by ACME, as JSON. */
  acme: string;
  created_by: string;
}

export interface IssuedCertificateTable extends Owned {
  vault_id: string;
  authority_id: string;
  profile_id: string;
  profile_name: string;
  serial: string;
  /** As JSON. */
  names: string;
  certificate: string;
  not_before: number;
  expires_at: number;
  requester_kind: string;
  requester_id: string;
  revoked_at: number | null;
  revocation_reason: string | null;
}
