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
import { type Restrictions, shownBy } from '../credentials/credential.ts';
import { boundTo, checkLife, withRestrictions } from '../credentials/credential-records.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import { named } from '../kernel/row-check.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import { type WrittenBy, writtenBy } from '../kernel/written-by.ts';
import type { Records } from '../resources/records.ts';
import {
  changedTrust,
  checkTrust,
  type Granted,
  grantedIn,
  noTrust,
  presentIdentity,
  trustIn,
} from './identity-records.ts';

export type Identities = ReturnType<typeof identitiesWith>;

type Writing = Permit<'identities:write'>;

export function identitiesWith(parts: Parts, records: Records, egress: Egress) {
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

  function checkShown(
    caller: Caller,
    { narrowing, expiration_date: until }: Pick<IdentityRow, 'narrowing' | 'expiration_date'>,
  ): Promise<void> {
    const { vault_ids, ...narrowed } = JSON.parse(narrowing) as Granted;
    return guard.mayShow(caller, shownByAccessKey(shownBy(narrowed)), vault_ids, { until });
  }

  /** Checks the identity as a whole each time: what it shows, and whom it trusts. */
  async function checked(permit: Writing, row: Draft): Promise<void> {
    await checkShown(permit.caller, row);
    await checkTrust(row.method as LoginMethod, JSON.parse(row.trust), egress);
  }

  return {
    find,
    /** Refuses a caller who could not read what the identity's access keys show. */
    checkShown,

    list,
    get,

    async create(permit: Writing, body: IdentityCreate): Promise<Identity> {
      const { caller } = permit;
      const draft = draftOf(caller, body);
      checkLife(caller, draft.expiration_date);
      await records.checkVaults(permit, body.vault_ids);
      await checked(permit, draft);
      const row = stamps.identity.create(now(), {
        id: newId(),
        organization_id: caller.organizationId,
        ...draft,
        created_by: caller.id,
        last_login_at: null,
      });
      await change(permit, 'identity.created', row, { statements: [store.identities.insert(row)] });
      return presentIdentity(row);
    },

    async update(permit: Writing, id: string, body: IdentityUpdate): Promise<Identity> {
      const { caller } = permit;
      await records.checkVaults(permit, body.vault_ids ?? []);
      return revise(permit, id, 'identity.updated', async (before, next) => {
        const row = next(changedColumns(caller, before, body));
        checkLife(caller, row.expiration_date);
        await checked(permit, row);
        return { row };
      });
    },

    remove: (permit: Writing, id: string): Promise<void> =>
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
    narrowing: restrictionsText(boundTo(caller), body, writtenBy(caller, null)),
    lifetime,
    max_uses,
    expiration_date,
  };
}

function restrictionsText(before: Restrictions, body: IdentityUpdate, written_by: WrittenBy): string {
  const { kinds, names, names_only, may_use, operations, cidrs, rate_limit, vault_ids } = body;
  const wanted = { kinds, names, names_only, may_use, operations, cidrs, rate_limit };
  const narrowing = withRestrictions(before, wanted);
  const opened = vault_ids === undefined ? {} : { vault_ids };
  return JSON.stringify({ ...narrowing, ...opened, written_by });
}

function changedColumns(caller: Caller, row: IdentityRow, body: IdentityUpdate): Partial<IdentityRow> {
  const { name = row.name, lifetime = row.lifetime, max_uses, expiration_date } = body;
  return {
    ...named(name),
    trust: JSON.stringify(changedTrust(trustIn(row), body)),
    narrowing: restrictionsText(grantedIn(row), body, writtenBy(caller, row, grantedIn(row).written_by)),
    lifetime,
    max_uses: max_uses === undefined ? row.max_uses : max_uses,
    expiration_date: expiration_date === undefined ? row.expiration_date : expiration_date,
  };
}

function identityChange<A extends Action = never>(row: MaybeAllowed<IdentityRow, A>): SubjectChange<A> {
  const lasts = { until: row.expiration_date, madeWith: grantedIn(row).made_with ?? [] };
  return { type: 'identity', id: row.id, name: row.name, revision: row.revision, lasts };
}
