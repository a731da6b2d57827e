/**
 * Who calls with an API key: what its record gives it, within what its member has now, at every use. A key belongs to the
 * member who created it, or whose key did, and ends with them; one that the operator created belongs to nobody. One that
 * was made with an API key that ends, ends with that one too, and so does whatever else such a key made.
 */
import type { Caller, Origin, Proof, ProvenBy } from '../../access/caller.ts';
import {
  type Action,
  allows,
  type Grant,
  noVaultRoles,
  type Role,
  shownByAccessKey,
} from '../../access/policy.ts';
import { isId } from '../../contract/id.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { Store } from '../../store/store.ts';
import type { Stamps } from '../kernel/stamps.ts';
import { type Credential, isUsable, type Login, type Restrictions } from './credential.ts';
import { type Holder, rightsOf, rightsProvenBy } from './member-rights.ts';
import { shownBy } from './shown-by.ts';

type KeyRecord = Pick<Credential, 'row' | 'narrowing'>;

/** Where API keys and members are looked up: in memory, or in the store. */
export interface KeyLookup<Key extends KeyRecord = KeyRecord> {
  key(id: string): Promise<Key | undefined>;
  /** The member whose an API key is; null for the operator's. */
  member(key: Key): Promise<string | null>;
  holder(memberId: string): Promise<Holder | undefined>;
  now(): number;
}

/**
 * The member whose an API key is; null for the operator's. A key from before that was noted says who created it, and
 * where that is another key, it is theirs whose that one is.
 */
export async function makerOf(
  { store, stamps }: { readonly store: Store; readonly stamps: Stamps },
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
 * The API keys that something was made with; null where one of them is over, or is no longer its member's. Each is looked at
 * by itself: those that it was made with are in the list too.
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

/** Without one it is nobody's. */
async function holderOf<Key extends KeyRecord>(look: KeyLookup<Key>, key: Key) {
  const member = await look.member(key);
  return member === null ? null : look.holder(member);
}

function isHeld({ row, narrowing }: KeyRecord, holder: Holder | null | undefined): boolean {
  if (holder === null || holder === undefined) return holder === null;
  return isOf(narrowing.login, holder) && holder.member.organization_id === row.organization_id;
}

/**
 * What an API key is given, within what its member has now; null where they are no member any more, where it is
 * their sign-in and they no longer prove who they are as then, and where what it was made with is over.
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
  const grant = { ...grantIn(row, narrowing), within: holder ? rightsOf(holder) : null };
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

/** Whether a member is who they were when their API key was given; any other key than a sign-in asks only that they are one. */
export function isOf(login: Login | undefined, { member, account }: Holder): boolean {
  if (member.state !== 'active') return false;
  return login === undefined || (member.id === login.member_id && account.epoch === login.epoch);
}

/** Whether a member may let a client see this of a vault, as who they were when they allowed it. */
export function mayLend(login: Login, holder: Holder, vaultId: string, narrowing: Restrictions): boolean {
  const rights = rightsOf(holder);
  const isHeld = (action: Action) => allows(rights, action, vaultId);
  return isOf(login, holder) && shownByAccessKey(shownBy(narrowing)).every(isHeld);
}

/** What an API key's own record gives it. */
export function grantIn(row: CredentialRow, { scopes = null, vault_ids = null }: Restrictions): Grant {
  return {
    role: row.role as Role,
    vaultRoles: noVaultRoles,
    scopes,
    vaultIds: vault_ids,
    until: row.expiration_date,
    within: null,
  };
}

function readBack(row: CredentialRow): KeyRecord {
  return { row, narrowing: JSON.parse(row.narrowing) as Restrictions };
}
