/**
 * The tables for people: organizations, members and their groups, their means of signing in, and the access that they
 * granted to programs.
 */
import type { Digest, PublicBytes, Sealed, Stamp } from '../../base/bytes.ts';
import type { Flag, Named, Owned, Stamped } from './common.ts';

export interface OrganizationTable extends Stamped {
  id: string;
  name: string;
  plan: string;
  enterprise_limit: number;
}

export interface MemberTable extends Owned {
  email: string;
  /** The address in normalized form, for comparison. */
  email_key: string;
  role: string;
  state: 'invited' | 'active';
  /** Roles in individual vaults, as a list of `vault_id` and `role`. */
  grants: string;
}

/** Members who share the same roles in the same vaults. */
export interface MemberGroupTable extends Named {
  /** In the same form as a member's. */
  grants: string;
  /** Members who were added manually. */
  member_ids: string;
  /** Whether the single sign-on issuer determines further members, by the group's name. */
  single_sign_on: Flag;
  /** Members for whom the issuer named the group when they last signed in. */
  signed_on_ids: string;
}

/** A CLI that waits for a person to sign it in through a browser. */
export interface DeviceLoginTable {
  /** Also the id of the API key that it receives. */
  id: string;
  /** A keyed hash of the code that the person enters. */
  user_code: string;
  digest: Digest;
  /** The client's description of itself, and the address of its request. */
  request: string;
  state: 'pending' | 'approved' | 'denied';
  /** Who approved it, and with which access. */
  approval: string | null;
  created_at: number;
  expires_at: number;
  stamp: Stamp;
}

/** A person's grant to an OAuth client of the tool endpoint. */
export interface OAuthGrantTable extends OfMember {
  /** The epoch of the member's account when they granted it. In any other epoch the grant has ended. */
  epoch: number;
  /** The access key that it issues: one row, whose token changes with each refresh. */
  access_key_id: string;
  vault_id: string;
  /** Separated by spaces, as in OAuth. */
  scope: string;
  /** The client's id and name, and how it was identified. */
  client: string;
  redirect_uri: string;
  /** The address of the tool endpoint that it is valid for. */
  resource: string;
  /** The hash of the code verifier. */
  challenge: string;
  code: Digest;
  code_expires_at: number;
  /** The newest refresh token; null until the code has been exchanged. */
  refresh: Digest | null;
  /** How many refresh tokens came before it. */
  rotations: number;
  expires_at: number;
}

interface OfMember extends Owned {
  member_id: string;
}

/** A member's means of signing in. One row per member, so that a second factor can't be removed without the first. */
export interface AccountTable extends OfMember {
  /** A keyed hash of the password's argon2id hash. */
  password: Digest | null;
  /** The seed for one-time codes, sealed. It is in `totp_pending` until a first code was correct. */
  totp: Sealed | null;
  totp_pending: Sealed | null;
  /** The newest step whose code was used. Codes up to it are no longer accepted. */
  totp_step: number;
  /** Digests of the unused recovery codes. */
  recovery: string;
  invitation: Digest | null;
  invitation_expires: number | null;
  /** The person's identity at the issuer, set when they first sign in through it: both or neither. */
  oidc_issuer: string | null;
  oidc_subject: string | null;
  /** Sessions from an earlier epoch are invalid. */
  epoch: number;
}

export interface PasskeyTable extends OfMember {
  name: string;
  credential_id: string;
  public_key: PublicBytes;
  transports: string;
  counter: number;
  /** Only for display. */
  used_at: number | null;
}

export interface SessionTable extends OfMember {
  digest: Digest;
  epoch: number;
  method: string;
  ip_address: string;
  user_agent: string;
  /** When the person last reauthenticated in it. */
  proven_at: number | null;
  /**
   * Updated without a new revision, and covered by the stamp. Restoring an earlier value can only end the session
   * early.
   */
  used_at: number;
}

/** A member's request for a role in a vault, or what was decided about it. */
export interface RoleRequestTable extends Owned {
  member_id: string;
  vault_id: string;
  role: string;
  /** When the role is to end. */
  ends_at: number;
  reason: string;
  state: 'pending' | 'approved' | 'refused' | 'withdrawn';
  decided_by: string | null;
  expires_at: number;
}

/** Failed attempts at one factor of one account. */
export interface LockOutTable {
  /** A keyed hash of the account and the factor, or of an address that belongs to no account. */
  subject: string;
  failures: number;
  last_at: number;
  stamp: Stamp;
}

export interface UsedChallengeTable {
  challenge: string;
  expires_at: number;
}

/** A mail that waits to be sent. */
export interface MailTable {
  id: string;
  organization_id: string;
  member_id: string;
  /** What it tells, sealed: an invitation contains its token. */
  content: Sealed;
  due_at: number;
  tries: number;
  /** No other replica sends it before this time. */
  claimed_until: number;
  created_at: number;
}

/** What a member wants to be told by mail, and from where they have signed in. */
export interface MailSettingsTable {
  member_id: string;
  choices: string;
  /** Keyed digests of networks, the newest first. */
  places: string;
}

export interface PeopleTables {
  organizations: OrganizationTable;
  members: MemberTable;
  member_groups: MemberGroupTable;
  accounts: AccountTable;
  passkeys: PasskeyTable;
  sessions: SessionTable;
  lock_outs: LockOutTable;
  used_challenges: UsedChallengeTable;
  device_logins: DeviceLoginTable;
  oauth_grants: OAuthGrantTable;
  role_requests: RoleRequestTable;
  mails: MailTable;
  mail_settings: MailSettingsTable;
}
