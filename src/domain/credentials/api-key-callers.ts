/**
 * Determines the caller for an API key: its record's permissions, limited at every use to what its member has now. A
 * key belongs to the member who created it, directly or with another key, and ends with them; a key created by the
 * operator belongs to no member. A key created with an API key that expires ends with that key too, and so does
 * everything else that such a key created.
 */
import type { Caller, Origin, Proof, ProvenBy } from '../../access/caller.ts';
import {
  type Action,
  allows,
  type Grant,
  grantOfRole,
  type Role,
  shownByAccessKey,
} from '../../access/policy.ts';
import { isId } from '../../contract/id.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Credential, isUsable, type Login, type Restrictions, shownBy } from './credential.ts';
import { type Holder, rightsOf, rightsProvenBy } from './member-rights.ts';

type KeyRecord = Pick<Credential, 'row' | 'narrowing'>;

/** Looks up API keys and members, in the cache or in the store. */
export interface KeyLookup<Key extends KeyRecord = KeyRecord> {
  key(id: string): Promise<Key | undefined>;
  /** The member that an API key belongs to; null for the operator's keys. */
  member(key: Key): Promise<string | null>;
  holder(memberId: string): Promise<Holder | undefined>;
  now(): number;
}

/**
 * The member that an API key belongs to; null for the operator's keys. A key older than this field only names its
 * creator; if that is another key, the member is the one that key belongs to.
 */
export async function makerOf(
  { store, stamps }: Pick<Parts, 'store' | 'stamps'>,
  { row, narrowing }: KeyRecord,
): Promise<string | null> {
  if (narrowing.login !== undefined) return narrowing.login.member_id;
  if (narrowing.maker !== undefined) return narrowing.maker;
  if (!isId(row.created_by)) return null;
  const maker = await store.credentials.byId(row.created_by);
  return maker === undefined
    ? row.created_by
    : makerOf({ store, stamps }, readBack(stamps.credential.believe(maker)));
}

/**
 * The API keys that something was created with; null if one of them has ended or no longer belongs to its member.
 * Each is checked by itself: those that it was created with are in the list too.
 */
export async function goodMakers<Key extends KeyRecord>(
  look: KeyLookup<Key>,
  { made_with = [] }: Restrictions,
): Promise<Key[] | null> {
  const makers: Key[] = [];
  for (const id of made_with) {
    const key = await look.key(id);
    if (key === undefined || key.row.kind !== 'api-key' || !isUsable(key.row, look.now())) return null;
    if (!isHeld(key, await holderOf(look, key))) return null;
    makers.push(key);
  }
  return makers;
}

/** Null if the key belongs to no member. */
async function holderOf<Key extends KeyRecord>(look: KeyLookup<Key>, key: Key) {
  const member = await look.member(key);
  return member === null ? null : look.holder(member);
}

function isHeld({ row, narrowing }: KeyRecord, holder: Holder | null | undefined): boolean {
  if (holder === null || holder === undefined) return holder === null;
  return isOf(narrowing.login, holder) && holder.member.organization_id === row.organization_id;
}

/**
 * The caller with the API key's permissions, limited to what its member has now. Null if they are no longer a member,
 * if the key is their sign-in and their epoch has changed since, or if an API key it was created with has ended.
 */
export async function callerOf<Key extends KeyRecord>(
  look: KeyLookup<Key>,
  key: Key,
  origin: Origin,
): Promise<Caller | null> {
  const holder = await holderOf(look, key);
  const makers = await goodMakers(look, key.narrowing);
  if (!isHeld(key, holder) || makers === null) return null;
  const { row, narrowing } = key;
  const keys = [key, ...makers];
  const rows: ProvenBy[] = keys.map(one => rowOf('credentials', one.row));
  if (holder) {
    rows.push(...rightsProvenBy(holder));
    if (keys.some(one => one.narrowing.login !== undefined)) rows.push(rowOf('accounts', holder.account));
  }
  const grant = { ...grantIn(row, narrowing), within: holder ? rightsOf(holder, look.now()) : null };
  const { id, name, organization_id: organizationId } = row;
  const proof = { rows, until: grant.until, ...provenIn(narrowing) };
  return { ...grant, kind: 'api-key', id, name, organizationId, origin, proof };
}

function rowOf(table: ProvenBy['table'], { id, revision }: Pick<ProvenBy, 'id' | 'revision'>): ProvenBy {
  return { table, id, revision };
}

function provenIn({ login }: Restrictions): Pick<Proof, 'provenAt'> {
  return login === undefined ? {} : { provenAt: login.proven_at ?? null };
}

/** Whether the member is still active and, for a sign-in, in the same epoch as when the key was issued. */
export function isOf(login: Login | undefined, { member, account }: Holder): boolean {
  if (member.state !== 'active') return false;
  return login === undefined || (member.id === login.member_id && account.epoch === login.epoch);
}

/** Whether a member may now let a client see this much of a vault, in the epoch in which they allowed it. */
export function mayLend(
  login: Login,
  holder: Holder,
  vaultId: string,
  narrowing: Restrictions,
  now: number,
): boolean {
  const rights = rightsOf(holder, now);
  const isHeld = (action: Action) => allows(rights, action, vaultId);
  return isOf(login, holder) && shownByAccessKey(shownBy(narrowing)).every(isHeld);
}

export function grantIn(row: CredentialRow, { scopes = null, vault_ids = null }: Restrictions): Grant {
  return { ...grantOfRole(row.role as Role, row.expiration_date), scopes, vaultIds: vault_ids };
}

function readBack(row: CredentialRow): KeyRecord {
  return { row, narrowing: JSON.parse(row.narrowing) as Restrictions };
}
