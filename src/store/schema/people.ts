/** The tables of people: organizations, members and their groups, how they sign in, and what they allowed programs. */
import type { Digest, PublicBytes, Sealed, Stamp } from '../../base/bytes.ts';
import type { Flag, Stamped } from './common.ts';

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
  state: 'invited' | 'active';
  /** Roles in single vaults, as a list of `vault_id` and `role`. */
  grants: string;
}

/** Members who have the same roles in the same vaults. */
export interface MemberGroupTable extends Stamped {
  id: string;
  organization_id: string;
  name: string;
  name_search: string;
  /** As a member's. */
  grants: string;
  /** Those whom somebody put here. */
  member_ids: string;
  /** Whether the issuer of single sign-on says who else is in it, by the group's name. */
  single_sign_on: Flag;
  /** Those of whom it said so when they last signed in. */
  signed_on_ids: string;
}

/** A command line that waits to be signed in by a person at a browser. */
export interface DeviceLoginTable {
  /** Also the id of the API key that it is given. */
  id: string;
  /** Blind: a keyed hash of the code that the person enters. */
  user_code: string;
  digest: Digest;
  /** What it said of itself, and the address that it asked from. */
  request: string;
  state: 'pending' | 'approved' | 'denied';
  /** Who allowed it, and what. */
  approval: string | null;
  created_at: number;
  expires_at: number;
  stamp: Stamp;
}

/** What a person allowed a client of the tool endpoint. */
export interface OAuthGrantTable extends OfMember {
  /** Of the member's account when they allowed it: in any other, the grant is over. */
  epoch: number;
  /** The access key that it gives: one row, whose token changes with each refresh. */
  access_key_id: string;
  vault_id: string;
  /** As the protocol writes it: with spaces between. */
  scope: string;
  /** The client's id and name, and how it was known. */
  client: string;
  redirect_uri: string;
  /** The address of the tool endpoint that it is for. */
  resource: string;
  /** What the code's verifier hashes to. */
  challenge: string;
  code: Digest;
  code_expires_at: number;
  /** Of the newest refresh token; null until the code was exchanged. */
  refresh: Digest | null;
  /** How many refresh tokens came before that one. */
  rotations: number;
  expires_at: number;
}

interface OfMember extends Stamped {
  id: string;
  organization_id: string;
  member_id: string;
}

/** How a member proves who they are. One row per member, so that removing a second factor takes the first with it. */
export interface AccountTable extends OfMember {
  /** A keyed mark over what argon2id made of the password. */
  password: Digest | null;
  /** The seed of one-time codes, sealed; `totp_pending` until a first code was right. */
  totp: Sealed | null;
  totp_pending: Sealed | null;
  /** The newest step whose code was used; none up to it is taken again. */
  totp_step: number;
  /** Digests of the recovery codes that are left. */
  recovery: string;
  invitation: Digest | null;
  invitation_expires: number | null;
  /** Who the person is to the issuer, once they came by it: both or neither. */
  oidc_issuer: string | null;
  oidc_subject: string | null;
  /** Sessions of an earlier epoch are dead. */
  epoch: number;
}

export interface PasskeyTable extends OfMember {
  name: string;
  credential_id: string;
  public_key: PublicBytes;
  transports: string;
  counter: number;
  /** For people to look at; decides nothing. */
  used_at: number | null;
}

export interface SessionTable extends OfMember {
  digest: Digest;
  epoch: number;
  method: string;
  ip_address: string;
  user_agent: string;
  /** When the person last proved themselves again in it. */
  proven_at: number | null;
  /** Changes without a revision, under a stamp of its own time: one put back can only end the session early. */
  used_at: number;
}

/** Failed attempts at one factor of one account. */
export interface LockOutTable {
  /** A keyed hash of the account and the factor, or of an address that nobody has. */
  subject: string;
  failures: number;
  last_at: number;
  stamp: Stamp;
}

export interface UsedChallengeTable {
  challenge: string;
  expires_at: number;
}
