/** The row of a credential: how it is created, changed and presented. */
import { isCidr } from '../../access/address.ts';
import { type Caller, makersOf } from '../../access/caller.ts';
import { type Grant, type GrantedRole, mayGrant, outlives } from '../../access/policy.ts';
import type { AccessKey, AccessKeyUpdate, ApiKey, PublicToken } from '../../contract/access.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { Lasts } from '../kernel/lasting.ts';
import { named } from '../kernel/row-check.ts';
import { grantIn } from './api-key-callers.ts';
import type { Restrictions } from './credential.ts';

export interface NewCredential {
  readonly name: string;
  readonly vaultId?: string;
  readonly keyId?: string;
  readonly role?: GrantedRole;
  readonly narrowing?: Restrictions;
  readonly expirationDate?: number | null | undefined;
  readonly maxUses?: number | null | undefined;
  /** The identity that it belongs to and, for an access key, at which revision. */
  readonly identity?: { readonly id: string | null; readonly revision: number | null };
}

export type Maker = Pick<Caller, 'id' | 'organizationId'>;

/** The stored fields of a new credential, except its kind and what proves it. */
export function newFields(maker: Maker, id: string, wanted: NewCredential, now: number) {
  return {
    id,
    organization_id: maker.organizationId,
    ...named(wanted.name),
    vault_id: wanted.vaultId ?? null,
    key_id: wanted.keyId ?? null,
    role: wanted.role ?? null,
    narrowing: JSON.stringify(wanted.narrowing ?? {}),
    expiration_date: wanted.expirationDate ?? null,
    max_uses: wanted.maxUses ?? null,
    created_by: maker.id,
    revoked_at: null,
    created_at: now,
    updated_at: now,
    revision: 1,
    uses: 0,
    last_used_at: null,
    identity_id: wanted.identity?.id ?? null,
    identity_revision: wanted.identity?.revision ?? null,
  };
}

export type RestrictionFields = Pick<
  AccessKeyUpdate,
  'kinds' | 'names' | 'names_only' | 'may_use' | 'operations' | 'cidrs' | 'rate_limit'
>;

/** Every request with such a credential checks all of them. */
const mostMakers = 8;

/** The API keys with which all that the caller creates ends; none for a person or a key without end. */
export function boundTo(caller: Caller): Pick<Restrictions, 'made_with'> {
  const made_with = makersOf(caller);
  if (made_with.length > mostMakers)
    throw new Failure('FORBIDDEN', {
      message: `At most ${mostMakers} API keys can each create the next; use an earlier one`,
    });
  return made_with.length === 0 ? {} : { made_with };
}

export function lifeOf({ expiration_date, narrowing }: CredentialRow): Lasts {
  const { made_with: madeWith = [] } = JSON.parse(narrowing) as Restrictions;
  return { until: expiration_date, madeWith };
}

/** Extending a key's life is granting, just like creating it. */
export function checkGrant(caller: Caller, wanted: Grant): void {
  if (!mayGrant(caller, wanted)) throw tooMuch();
}

/** A credential ends with the key that creates or extends it, unless it is set to end earlier. */
export function checkLife(caller: Caller, until: number | null | undefined): void {
  if (until !== undefined && outlives(caller, until)) throw tooMuch();
}

/** An update of any credential, by someone who may change the rest of it. */
export type CredentialUpdate = Pick<AccessKeyUpdate, 'name' | 'expiration_date' | 'max_uses'>;

/** What an update changes; it extends no life that may not be extended. */
export function changesOf(caller: Caller, row: CredentialRow, update: CredentialUpdate) {
  const { name = row.name, expiration_date = row.expiration_date, max_uses = row.max_uses } = update;
  checkLife(caller, update.expiration_date);
  checkGivenLife(row, expiration_date);
  return { ...named(name), expiration_date, max_uses };
}

/** A credential that was issued to an identity or a command line, or ends with another, can't live longer. */
function checkGivenLife(before: CredentialRow, until: number | null): void {
  const { expiration_date, identity_revision, narrowing } = before;
  const { login, made_with } = JSON.parse(narrowing) as Restrictions;
  const isGiven = identity_revision !== null || login !== undefined || made_with !== undefined;
  if (!isGiven || expiration_date === null) return;
  if (until === null || until > expiration_date)
    throw invalid(
      'expiration_date',
      'can’t be later than it is now: the credential was issued until then, or ends with the key that created it',
    );
}

export function tooMuch(): Failure {
  return new Failure('FORBIDDEN', { message: 'A credential can’t have more permissions than its creator' });
}

export function grantOf(row: CredentialRow, until: number | null): Grant {
  return { ...grantIn(row, JSON.parse(row.narrowing) as Restrictions), until };
}

/** Fields that the body omits don't change; null removes a restriction. */
export function withRestrictions(before: Restrictions, body: RestrictionFields): Restrictions {
  const bad = body.cidrs?.find(cidr => !isCidr(cidr));
  if (bad !== undefined) throw invalid('cidrs', 'must contain ranges such as 10.0.0.0/8 or 2001:db8::/32');
  const sent = Object.entries(body).filter(([, value]) => value !== undefined);
  return { ...before, ...Object.fromEntries(sent) };
}

export function presentCommon(row: CredentialRow) {
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
  const { scopes = null, vault_ids = null, login, maker = null } = JSON.parse(row.narrowing) as Restrictions;
  return {
    ...presentCommon(row),
    role: row.role as GrantedRole,
    scopes: scopes && [...scopes],
    vault_ids: vault_ids && [...vault_ids],
    member_id: login?.member_id ?? maker,
  };
}

export function presentRestrictions(narrowing: Restrictions) {
  const { kinds, names, names_only, may_use, operations, cidrs } = narrowing;
  return {
    kinds: kinds ? [...kinds] : null,
    names: names ? [...names] : null,
    names_only: names_only ?? false,
    may_use: may_use ?? false,
    operations: operations ? [...operations] : null,
    cidrs: cidrs ? [...cidrs] : null,
  };
}

export function presentAccessKey(row: CredentialRow): AccessKey {
  const narrowing = JSON.parse(row.narrowing) as Restrictions;
  return {
    ...presentCommon(row),
    vault_id: row.vault_id!,
    ...presentRestrictions(narrowing),
    max_uses: row.max_uses,
    uses: row.uses,
    rate_limit: narrowing.rate_limit ?? null,
    identity_id: row.identity_id,
  };
}

export function presentPublicToken(row: CredentialRow): PublicToken {
  return { ...presentCommon(row), key_id: row.key_id!, vault_id: row.vault_id! };
}
