/**
 * Profiles: which certificates an authority issues. A name that its authority's certificate doesn't permit is refused
 * when the profile is written, and again whenever a certificate is issued.
 */

import type { Action } from '../../access/policy.ts';
import type { Profile, ProfileCreate, ProfileQuery, ProfileUpdate } from '../../contract/authorities.ts';
import { addressRange } from '../../contract/certificate-names.ts';
import { invalid } from '../../contract/errors.ts';
import { iso } from '../../contract/text.ts';
import { constraintsIn } from '../../material/authority-certificate.ts';
import { constraintsInclude } from '../../material/name-constraints.ts';
import type { AuthorityRow, ProfileRow } from '../../store/records/authorities.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, vaultsAsked } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import { named } from '../kernel/row-check.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import { notFoundIn } from '../resources/subject.ts';
import { mayCertify } from './authorities.ts';

type Writing = Permit<'profiles:write'>;

export function profilesWith(parts: Parts, records: Records) {
  const { store, stamps, guard, now, newId } = parts;
  const { find, list, get, change, revise, remove } = revisedRecords(parts, {
    noun: 'profiles',
    stamper: stamps.profile,
    byId: store.profiles.byId,
    page: (permit, page, query: ProfileQuery) => {
      const vaultIds = vaultsAsked(permit, query.vault_id);
      if (vaultIds?.length === 0) return null;
      const { organizationId } = permit.caller;
      return store.profiles.page(
        { organizationId, vaultIds, q: query.q, authorityId: query.authority_id },
        page,
      );
    },
    present: rows => rows.map(presentProfile),
    update: store.profiles.update,
    subject: profileChange,
    vaultOf: row => row.vault_id,
  });

  async function authorityOf(permit: Permit, id: string): Promise<AuthorityRow> {
    const found = await store.authorities.byId(permit.caller.organizationId, id);
    const missing = notFoundIn('authority_id', 'is not the id of an authority');
    return stamps.authority.believe(await guard.found(permit, found, found?.vault_id).catch(missing));
  }

  return {
    list,
    get,
    find,

    async create(permit: Writing, body: ProfileCreate): Promise<Profile> {
      const authority = await authorityOf(permit, body.authority_id);
      await mayCertify(parts, records, permit, authority.vault_id);
      await records.openVault(permit, authority.vault_id);
      checkPermitted(authority, body.allowed_names);
      const row = stamps.profile.create(now(), {
        id: newId(),
        organization_id: permit.caller.organizationId,
        vault_id: authority.vault_id,
        authority_id: authority.id,
        ...named(body.name),
        allowed_names: JSON.stringify(body.allowed_names),
        max_days: body.max_days,
        usages: JSON.stringify(body.usages),
        acme: JSON.stringify(body.acme),
        created_by: permit.caller.id,
      });
      const at = { table: 'authorities', id: authority.id, revision: authority.revision } as const;
      const statements = [store.conditions.unchanged([at], 'stale'), store.profiles.insert(row)];
      await change(permit, 'profile.created', row, { lasts: 'without end', statements });
      return presentProfile(row);
    },

    update: (permit: Writing, id: string, body: ProfileUpdate): Promise<Profile> =>
      revise(permit, id, 'profile.updated', async (before, next) => {
        await mayCertify(parts, records, permit, before.vault_id);
        const held = presentProfile(before);
        const { name = held.name, max_days = held.max_days, acme = held.acme } = body;
        const { allowed_names = held.allowed_names, usages = held.usages } = body;
        if (body.allowed_names !== undefined)
          checkPermitted(await authorityOf(permit, before.authority_id), allowed_names);
        const lists = {
          allowed_names: JSON.stringify(allowed_names),
          usages: JSON.stringify(usages),
          acme: JSON.stringify(acme),
        };
        return { row: next({ ...named(name), ...lists, max_days }), lasts: 'without end' };
      }),

    /** Certificates that were issued by it stay valid, and can still be revoked. */
    remove: (permit: Writing, id: string): Promise<void> =>
      remove(permit, id, 'profile.deleted', before => ({
        statements: [store.profiles.remove(id, before.revision)],
      })),
  };
}

/** What stands behind the stars of a pattern must be permitted. */
function checkPermitted({ certificate, chain }: AuthorityRow, allowed: readonly string[]): void {
  const plain = allowed.map(pattern =>
    addressRange(pattern) === null ? pattern.replace(/^\*{1,2}\./, '') : pattern,
  );
  const all = constraintsIn((certificate ?? '') + chain);
  if (!all.every(constraints => constraintsInclude(constraints, plain)))
    throw invalid('allowed_names', 'must be within the names that the authority’s certificate permits');
}

export function allowedIn(row: ProfileRow): string[] {
  return JSON.parse(row.allowed_names) as string[];
}

export function usagesIn(row: ProfileRow): Profile['usages'] {
  return JSON.parse(row.usages) as Profile['usages'];
}

/** A profile that was created before there was ACME has it switched off. */
export function acmeIn(row: ProfileRow): Profile['acme'] {
  return { enabled: false, challenge: 'none', ...(JSON.parse(row.acme) as Partial<Profile['acme']>) };
}

export function presentProfile(row: ProfileRow): Profile {
  return {
    id: row.id,
    vault_id: row.vault_id,
    authority_id: row.authority_id,
    name: row.name,
    allowed_names: allowedIn(row),
    max_days: row.max_days,
    usages: usagesIn(row),
    acme: acmeIn(row),
    created_by: row.created_by,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}

export function profileChange<A extends Action = never>(row: MaybeAllowed<ProfileRow, A>): SubjectChange<A> {
  const { id, name, vault_id: vaultId, revision, authority_id } = row;
  return { type: 'profile', id, name, vaultId, revision, details: { authority_id } };
}
