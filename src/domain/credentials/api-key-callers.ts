/**
 * Who calls with an API key: what its record gives it, within what its member has now, at every use. A key belongs to the
 * member who created it, or whose key did, and ends with them; one that the operator created belongs to nobody.
 */
import type { Caller, Origin, ProvenBy } from '../../access/caller.ts';
import {
  type Action,
  allows,
  type Grant,
  noVaultRoles,
  type Role,
  shownByAccessKey,
} from '../../access/policy.ts';
import { isId } from '../../contract/id.ts';
import type { CredentialRow } from '../../store/credentials.ts';
import type { Store } from '../../store/store.ts';
import type { Stamps } from '../kernel/stamps.ts';
import type { Credential, Login, Narrowing } from './credential.ts';
import { type Holder, rightsOf, rightsProvenBy } from './member-rights.ts';
import { shownBy } from './shown-by.ts';

type KeyRecord = Pick<Credential, 'row' | 'narrowing'>;

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
 * What an API key is given, within what its member has now; null where they are no member any more, or where it is
 * their sign-in and they no longer prove who they are as then. Without a holder it is nobody's.
 */
export function callerOf(
  { row, narrowing }: KeyRecord,
  origin: Origin,
  holder: Holder | null | undefined,
): Caller | null {
  if (holder === undefined) return null;
  const rows: ProvenBy[] = [{ table: 'credentials', id: row.id, revision: row.revision }];
  if (holder !== null) {
    if (!isOf(narrowing.login, holder) || holder.member.organization_id !== row.organization_id) return null;
    rows.push(...rightsProvenBy(holder));
    if (narrowing.login !== undefined)
      rows.push({ table: 'accounts', id: holder.account.id, revision: holder.account.revision });
  }
  const grant = { ...grantIn(row, narrowing), within: holder && rightsOf(holder) };
  const { id, name, organization_id: organizationId } = row;
  return { ...grant, kind: 'api-key', id, name, organizationId, origin, proof: { rows, until: grant.until } };
}

/** Whether a member is who they were when their API key was given; any other key than a sign-in asks only that they are one. */
export function isOf(login: Login | undefined, { member, account }: Holder): boolean {
  if (member.state !== 'active') return false;
  return login === undefined || (member.id === login.member_id && account.epoch === login.epoch);
}

/** Whether a member may let a client see this of a vault, as who they were when they allowed it. */
export function mayLend(login: Login, holder: Holder, vaultId: string, narrowing: Narrowing): boolean {
  const rights = rightsOf(holder);
  const isHeld = (action: Action) => allows(rights, action, vaultId);
  return isOf(login, holder) && shownByAccessKey(shownBy(narrowing)).every(isHeld);
}

/** What an API key's own record gives it. */
export function grantIn(row: CredentialRow, { scopes = null, vault_ids = null }: Narrowing): Grant {
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
  return { row, narrowing: JSON.parse(row.narrowing) as Narrowing };
}
