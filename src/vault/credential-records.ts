/** A credential's row, as it is made, changed and shown. */
import { isCidr } from '../access/address.ts';
import type { Caller } from '../access/caller.ts';
import { type Grant, mayGrant, type Role } from '../access/policy.ts';
import type { AccessKey, AccessKeyUpdate, ApiKey, PublicToken } from '../contract/access.ts';
import { Failure, invalid } from '../contract/errors.ts';
import { iso, isoOrNull } from '../contract/text.ts';
import type { CredentialRow } from '../store/credentials.ts';
import type { Narrowing } from './authenticate.ts';

export function named(name: string): Pick<CredentialRow, 'name' | 'name_search'> {
  return { name, name_search: name.toLowerCase() };
}

export function rename(
  row: CredentialRow,
  name: string | undefined,
  expirationDate: number | null | undefined,
) {
  return {
    ...named(name ?? row.name),
    expiration_date: expirationDate === undefined ? row.expiration_date : expirationDate,
  };
}

type Narrowings = Pick<AccessKeyUpdate, 'kinds' | 'names' | 'names_only' | 'cidrs' | 'rate_limit'>;

/** Giving a key a longer life is granting, as making it is. */
export function checkGrant(caller: Caller, wanted: Grant): void {
  if (mayGrant(caller, wanted)) return;
  throw new Failure('FORBIDDEN', { message: 'A key can be given no more than its maker has' });
}

export function grantOf({ role, narrowing }: CredentialRow): Grant {
  const { scopes = null, vault_ids = null } = JSON.parse(narrowing) as Narrowing;
  return { role: role as Role, scopes, vaultIds: vault_ids };
}

/** What a body leaves out stays; what it sets to null narrows nothing any more. */
export function narrowed(before: Narrowing, body: Narrowings): Narrowing {
  const bad = body.cidrs?.find(cidr => !isCidr(cidr));
  if (bad !== undefined) throw invalid('cidrs', 'must hold ranges such as 10.0.0.0/8 or 2001:db8::/32');
  const sent = Object.entries(body).filter(([, value]) => value !== undefined);
  return { ...before, ...Object.fromEntries(sent) };
}

function presentCommon(row: CredentialRow) {
  return {
    id: row.id,
    name: row.name,
    expiration_date: isoOrNull(row.expiration_date),
    last_used_at: isoOrNull(row.last_used_at),
    created_by: row.created_by,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

export function presentApiKey(row: CredentialRow): ApiKey {
  const { scopes = null, vault_ids = null } = JSON.parse(row.narrowing) as Narrowing;
  return {
    ...presentCommon(row),
    role: row.role as Role,
    scopes: scopes && [...scopes],
    vault_ids: vault_ids && [...vault_ids],
  };
}

export function presentAccessKey(row: CredentialRow): AccessKey {
  const { kinds, names, names_only, cidrs, rate_limit } = JSON.parse(row.narrowing) as Narrowing;
  return {
    ...presentCommon(row),
    vault_id: row.vault_id!,
    kinds: kinds ? [...kinds] : null,
    names: names ? [...names] : null,
    names_only: names_only ?? false,
    cidrs: cidrs ? [...cidrs] : null,
    max_uses: row.max_uses,
    uses: row.uses,
    rate_limit: rate_limit ?? null,
  };
}

export function presentPublicToken(row: CredentialRow): PublicToken {
  return { ...presentCommon(row), key_id: row.key_id!, vault_id: row.vault_id! };
}
