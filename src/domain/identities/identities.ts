/**
 * Workload identities: which machine may get short-lived access keys, for which vaults, and how it proves its
 * identity. Defining one gives access to what those keys show, so every change requires the permission to read all of
 * that. Any change to the identity, and its end, ends every key that it was issued. An API key that is restricted to
 * vaults neither sees nor creates identities.
 */

import type { Caller } from '../../access/caller.ts';
import type { Egress } from '../../access/egress.ts';
import { type Action, shownByAccessKey } from '../../access/policy.ts';
import type { SearchQuery } from '../../contract/common.ts';
import {
  defaultLifetime,
  type Identity,
  type IdentityCreate,
  type IdentityUpdate,
  type LoginMethod,
} from '../../contract/identities.ts';
import type { IdentityRow } from '../../store/records/identities.ts';
import type { Restrictions } from '../credentials/credential.ts';
import { boundTo, checkLife, withRestrictions } from '../credentials/credential-records.ts';
import { shownBy } from '../credentials/shown-by.ts';
import type { Collection } from '../kernel/collection.ts';
import type { Permit } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import { searched } from '../kernel/row-check.ts';
import type { Allowed, MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import { notFoundAs } from '../resources/subject.ts';
import {
  changedTrust,
  checkTrust,
  type Granted,
  grantedIn,
  noTrust,
  presentIdentity,
  trustIn,
  vaultMissing,
} from './identity-records.ts';

export interface Identities
  extends Collection<'identities', Identity, IdentityCreate, IdentityUpdate, SearchQuery> {
  /** The verified row of an identity that the caller can see. */
  find<A extends Action>(permit: Permit<A>, id: string): Promise<Allowed<IdentityRow, A>>;
  /** Refuses a caller who could not read what the identity's access keys show. */
  checkShown(caller: Caller, row: Pick<IdentityRow, 'narrowing'>): Promise<void>;
}

type Writing = Permit<'identities:write'>;

export function identitiesWith(parts: Parts, records: Records, egress: Egress): Identities {
  const { store, stamps, guard, now, newId } = parts;
  const { find, list, get, change, revise, remove } = revisedRecords(parts, {
    noun: 'identities',
    stamper: stamps.identity,
    byId: store.identities.byId,
    page: ({ caller, vaults }, page, { q }: SearchQuery) =>
      vaults === null ? store.identities.page(caller.organizationId, page, q) : null,
    present: rows => rows.map(presentIdentity),
    update: store.identities.update,
    subject: identityChange,
  });

  function checkShown(caller: Caller, { narrowing }: Pick<IdentityRow, 'narrowing'>): Promise<void> {
    const { vault_ids, ...narrowed } = JSON.parse(narrowing) as Granted;
    return guard.mayShow(caller, shownByAccessKey(shownBy(narrowed)), vault_ids);
  }

  async function checkVaults(permit: Writing, ids: readonly string[]): Promise<void> {
    for (const id of ids) await records.find(permit, 'vault', id).catch(notFoundAs(vaultMissing()));
  }

  /** Checks the identity as a whole each time: what it shows, and whom it trusts. */
  async function checked(permit: Writing, row: Draft): Promise<void> {
    await checkShown(permit.caller, row);
    await checkTrust(row.method as LoginMethod, JSON.parse(row.trust), egress);
  }

  return {
    find,
    checkShown,

    list,
    get,

    async create(permit, body) {
      const { caller } = permit;
      const draft = draftOf(caller, body);
      checkLife(caller, draft.expiration_date);
      await checkVaults(permit, body.vault_ids);
      await checked(permit, draft);
      const row = stamps.identity.stamp(newRow(caller, newId(), draft, now()));
      await change(permit, 'identity.created', row, { statements: [store.identities.insert(row)] });
      return presentIdentity(row);
    },

    async update(permit, id, body) {
      const { caller } = permit;
      await checkVaults(permit, body.vault_ids ?? []);
      return revise(permit, id, 'identity.updated', async (before, next) => {
        const row = next(changedColumns(before, body));
        checkLife(caller, row.expiration_date);
        await checked(permit, row);
        return { row };
      });
    },

    remove: (permit, id) =>
      remove(permit, id, 'identity.deleted', ({ revision }) => ({
        statements: store.identities.remove(id, revision),
      })),
  };
}

/** The columns that a body determines. */
type Draft = Pick<
  IdentityRow,
  'name' | 'name_search' | 'method' | 'trust' | 'narrowing' | 'lifetime' | 'max_uses' | 'expiration_date'
>;

function draftOf(caller: Caller, body: IdentityCreate): Draft {
  const { name, method, lifetime = defaultLifetime, max_uses = null, expiration_date = caller.until } = body;
  return {
    ...named(name),
    method,
    trust: JSON.stringify(changedTrust(noTrust, body)),
    narrowing: restrictionsText(boundTo(caller), body),
    lifetime,
    max_uses,
    expiration_date,
  };
}

function newRow(caller: Caller, id: string, draft: Draft, time: number): Omit<IdentityRow, 'stamp'> {
  return {
    id,
    organization_id: caller.organizationId,
    ...draft,
    created_by: caller.id,
    last_login_at: null,
    created_at: time,
    updated_at: time,
    revision: 1,
  };
}

function named(name: string): Pick<IdentityRow, 'name' | 'name_search'> {
  return { name, name_search: searched(name) };
}

function restrictionsText(before: Restrictions, body: IdentityUpdate): string {
  const { kinds, names, names_only, may_use, cidrs, rate_limit, vault_ids } = body;
  const narrowing = withRestrictions(before, { kinds, names, names_only, may_use, cidrs, rate_limit });
  return JSON.stringify(vault_ids === undefined ? narrowing : { ...narrowing, vault_ids });
}

function changedColumns(row: IdentityRow, body: IdentityUpdate): Partial<IdentityRow> {
  const { name = row.name, lifetime = row.lifetime, max_uses, expiration_date } = body;
  return {
    ...named(name),
    trust: JSON.stringify(changedTrust(trustIn(row), body)),
    narrowing: restrictionsText(grantedIn(row), body),
    lifetime,
    max_uses: max_uses === undefined ? row.max_uses : max_uses,
    expiration_date: expiration_date === undefined ? row.expiration_date : expiration_date,
  };
}

function identityChange<A extends Action = never>(row: MaybeAllowed<IdentityRow, A>): SubjectChange<A> {
  const lasts = { until: row.expiration_date, madeWith: grantedIn(row).made_with ?? [] };
  return { type: 'identity', id: row.id, name: row.name, revision: row.revision, lasts };
}
