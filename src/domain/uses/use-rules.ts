/**
 * Use rules: where the service sends a secret, or what it does with a key, for an access key that may use it. Anyone
 * who can choose the destination could send the value to themselves, so every change requires the permission to read
 * it. A rule belongs to the vault of its secret or key, and is found by callers with access to that vault.
 */

import type { Caller } from '../../access/caller.ts';
import type { Egress } from '../../access/egress.ts';
import { type Action, readsValue } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import { Failure } from '../../contract/errors.ts';
import type { UseRule, UseRuleCreate, UseRuleQuery, UseRuleUpdate } from '../../contract/use-rules.ts';
import type { UseCheck, Verdict } from '../../contract/uses.ts';
import type { UseRuleFilter, UseRuleRow } from '../../store/records/use-rules.ts';
import { type Collection, listOf } from '../kernel/collection.ts';
import { type Permit, vaultsAsked } from '../kernel/guard.ts';
import type { Lasts } from '../kernel/lasting.ts';
import type { Parts } from '../kernel/parts.ts';
import { searched } from '../kernel/row-check.ts';
import { retryingStale } from '../kernel/stale-changes.ts';
import type { Allowed, MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import { notFoundAs } from '../resources/subject.ts';
import { parsedCall } from './judging.ts';
import { callRuleOf, changedFields, checkFields, fieldsIn, presentUseRule } from './rule-records.ts';
import { verdictOf } from './verdicts.ts';

export interface UseRules extends Collection<UseRule, UseRuleCreate, UseRuleUpdate, UseRuleQuery> {
  /** Whether the rules of a secret would allow a call, and why not. Nothing is sent. */
  check(caller: Caller, call: UseCheck): Promise<Verdict>;
}

type Writing = Permit<'use-rules:write'>;

/** Per secret or key, because each call is checked against all of them. */
const mostRules = 50;

export function rulesForUseWith(
  { store, stamps, guard, now, newId }: Parts,
  records: Records,
  egress: Egress,
): UseRules {
  async function find<A extends Action>(permit: Permit<A>, id: string): Promise<Allowed<UseRuleRow, A>> {
    const row = await store.useRules.byId(permit.caller.organizationId, id);
    return stamps.useRule.believe(await guard.found(permit, row, row?.vault_id));
  }

  /** Checks that a rule is valid as a whole, and that the caller may read the value that it is about. */
  async function checked(
    permit: Writing,
    row: Pick<UseRuleRow, 'rule' | 'resource_type' | 'vault_id'>,
  ): Promise<void> {
    const { caller } = permit;
    await guard.mayShow(caller, [readsValue[row.resource_type]], [row.vault_id]);
    const fields = fieldsIn(row);
    checkFields(fields, row.resource_type, egress);
    if (fields.store === null) return;
    const writing = await guard.admit(caller, 'secrets:write');
    const target = await records
      .find(writing, 'secret', fields.store.secret_id)
      .catch(notFoundAs(noSuch('store')));
    if (target.vault_id !== row.vault_id) throw noSuch('store');
  }

  async function change(
    permit: Writing,
    verb: AuditAction,
    row: MaybeAllowed<UseRuleRow, 'use-rules:write'>,
    lasts: Lasts,
    statement: Parameters<typeof guard.change>[2]['statements'][number],
  ): Promise<void> {
    await guard.change(permit, verb, {
      subjects: [{ ...ruleChange(row), lasts }],
      statements: [statement],
      // Caches hold rules together with their vault.
      touches: [row.vault_id],
    });
  }

  function filterOf(permit: Permit, query: UseRuleQuery): UseRuleFilter | null {
    const vaultIds = vaultsAsked(permit, query.vault_id);
    if (vaultIds?.length === 0) return null;
    const resourceId = query.secret_id ?? query.key_id;
    return { organizationId: permit.caller.organizationId, vaultIds, resourceId, q: query.q };
  }

  return {
    async list(caller, query) {
      const filter = filterOf(await guard.admit(caller, 'use-rules:read'), query);
      if (filter === null) return listOf<UseRule>([], 0, query);
      const page = { page: query.page, limit: query.limit, asOf: query.as_of };
      const { rows, total } = await store.useRules.page(filter, page);
      return listOf(
        rows.map(row => presentUseRule(stamps.useRule.believe(row))),
        total,
        query,
      );
    },

    async get(caller, id) {
      return presentUseRule(await find(await guard.admit(caller, 'use-rules:read'), id));
    },

    async create(caller, body) {
      const permit = await guard.admit(caller, 'use-rules:write');
      const type = body.secret_id === undefined ? 'key' : 'secret';
      const missing = noSuch(`${type}_id`);
      const resource = await records
        .find(permit, type, (body.secret_id ?? body.key_id)!)
        .catch(notFoundAs(missing));
      if ((await store.useRules.ofResource(resource.id)).length >= mostRules)
        throw new Failure('CONFLICT', {
          message: `A ${type} can have at most ${mostRules} use rules; delete some first`,
        });
      const time = now();
      const row = stamps.useRule.stamp({
        id: newId(),
        organization_id: caller.organizationId,
        vault_id: resource.vault_id,
        resource_id: resource.id,
        resource_type: type,
        ...named(body.name),
        rule: JSON.stringify(changedFields(null, body, type)),
        created_by: caller.id,
        created_at: time,
        updated_at: time,
        revision: 1,
      });
      await checked(permit, row);
      await change(permit, 'use-rule.created', row, 'without end', store.useRules.insert(row));
      return presentUseRule(row);
    },

    async update(caller, id, body) {
      const permit = await guard.admit(caller, 'use-rules:write');
      return retryingStale(async () => {
        const before = await find(permit, id);
        const fields = changedFields(fieldsIn(before), body, before.resource_type);
        const changes = { ...named(body.name ?? before.name), rule: JSON.stringify(fields) };
        const row = stamps.useRule.revise(before, changes, now());
        await checked(permit, row);
        const lasts = row.rule === before.rule ? 'as before' : 'without end';
        await change(permit, 'use-rule.updated', row, lasts, store.useRules.update(row));
        return presentUseRule(row);
      });
    },

    async remove(caller, id) {
      const permit = await guard.admit(caller, 'use-rules:write');
      await retryingStale(async () => {
        const before = await find(permit, id);
        const after = { ...before, revision: before.revision + 1 };
        const removal = store.useRules.remove(id, before.revision);
        await change(permit, 'use-rule.deleted', after, 'as before', removal);
      });
    },

    async check(caller, { secret_id, rule, ...call }) {
      const permit = await guard.admit(caller, 'use-rules:write');
      const secret = await records.find(permit, 'secret', secret_id).catch(notFoundAs(noSuch('secret_id')));
      const rows = (await store.useRules.ofResource(secret.id)).map(stamps.useRule.believe);
      const named = rows.filter(({ id }) => rule === undefined || id === rule);
      await guard.confirm(permit);
      return verdictOf(named.map(callRuleOf), parsedCall(call));
    },
  };
}

function named(name: string): Pick<UseRuleRow, 'name' | 'name_search'> {
  return { name, name_search: searched(name) };
}

function ruleChange<A extends Action = never>(row: MaybeAllowed<UseRuleRow, A>): SubjectChange<A> {
  const { id, name, vault_id: vaultId, revision, resource_id } = row;
  return { type: 'use-rule', id, name, vaultId, revision, details: { resource_id } };
}

function noSuch(field: string): Failure {
  const what = field === 'key_id' ? 'key' : 'secret';
  return new Failure('NOT_FOUND', { field, reason: `is not the id of a ${what}` });
}
