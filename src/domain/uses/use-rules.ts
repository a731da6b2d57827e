/**
 * Use rules: where the service sends a secret, or what it does with a key, for an access key that may use it. Anyone
 * who can choose the destination could send the value to themselves, so every change requires the permission to read
 * it. A rule belongs to the vault of its secret or key, and is found by callers with access to that vault.
 */
import type { Egress } from '../../access/egress.ts';
import { type Action, readsValue } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import type { UseRule, UseRuleCreate, UseRuleQuery, UseRuleUpdate } from '../../contract/use-rules.ts';
import type { UseCheck, Verdict } from '../../contract/uses.ts';
import type { UseRuleFilter, UseRuleRow } from '../../store/records/use-rules.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, vaultsAsked } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import { named } from '../kernel/row-check.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import { writtenBy } from '../kernel/written-by.ts';
import type { Records } from '../resources/records.ts';
import { notFoundAs } from '../resources/subject.ts';
import { parsedCall } from './judging.ts';
import {
  callRuleOf,
  changedFields,
  checkFields,
  fieldsIn,
  presentUseRule,
  ruleText,
  writtenIn,
} from './rule-records.ts';
import { verdictOf } from './verdicts.ts';

export type UseRules = ReturnType<typeof rulesForUseWith>;

type Writing = Permit<'use-rules:write'>;

/** Per secret or key, because each call is checked against all of them. */
const mostRules = 50;

export function rulesForUseWith(parts: Parts, records: Records, egress: Egress) {
  const { store, stamps, guard, now, newId } = parts;
  const { list, get, change, revise, remove } = revisedRecords(parts, {
    noun: 'use-rules',
    stamper: stamps.useRule,
    byId: store.useRules.byId,
    page: (permit, page, query: UseRuleQuery) => {
      const filter = filterOf(permit, query);
      return filter && store.useRules.page(filter, page);
    },
    present: rows => rows.map(presentUseRule),
    update: store.useRules.update,
    subject: ruleChange,
    vaultOf: row => row.vault_id,
  });

  /** Caches hold rules together with their vault. */
  const touching = (row: UseRuleRow) => ({ touches: [row.vault_id] });

  /** Checks that a rule is valid as a whole, and that the caller may read the value that it is about. */
  async function checked(permit: Writing, row: Pick<UseRuleRow, 'rule' | 'resource_type' | 'vault_id'>) {
    const { caller } = permit;
    await guard.mayShow(caller, [readsValue[row.resource_type]], [row.vault_id]);
    const fields = fieldsIn(row);
    checkFields(fields, row.resource_type, egress);
    if (fields.store === null) return;
    const writing = await guard.admit(caller, 'secrets:write');
    const missing = () => noSuch('store');
    const target = await records.find(writing, 'secret', fields.store.secret_id).catch(notFoundAs(missing));
    if (target.vault_id !== row.vault_id) throw missing();
  }

  function filterOf(permit: Permit, query: UseRuleQuery): UseRuleFilter | null {
    const vaultIds = vaultsAsked(permit, query.vault_id);
    if (vaultIds?.length === 0) return null;
    const resourceId = query.secret_id ?? query.key_id;
    return { organizationId: permit.caller.organizationId, vaultIds, resourceId, q: query.q };
  }

  return {
    list,
    get,

    async create(permit: Writing, body: UseRuleCreate): Promise<UseRule> {
      const { caller } = permit;
      const type = body.secret_id === undefined ? 'key' : 'secret';
      const id = (body.secret_id ?? body.key_id)!;
      const resource = await records.find(permit, type, id).catch(notFoundAs(() => noSuch(`${type}_id`)));
      if ((await store.useRules.ofResource(resource.id)).length >= mostRules)
        throw new Failure('CONFLICT', {
          message: `A ${type} can have at most ${mostRules} use rules; delete some first`,
        });
      const row = stamps.useRule.create(now(), {
        id: newId(),
        organization_id: caller.organizationId,
        vault_id: resource.vault_id,
        resource_id: resource.id,
        resource_type: type,
        ...named(body.name),
        rule: ruleText(changedFields(null, body, type), writtenBy(caller, null)),
        created_by: caller.id,
      });
      await checked(permit, row);
      const statements = [store.useRules.insert(row)];
      await change(permit, 'use-rule.created', row, { ...touching(row), lasts: 'without end', statements });
      return presentUseRule(row);
    },

    async update(permit: Writing, id: string, body: UseRuleUpdate): Promise<UseRule> {
      return revise(permit, id, 'use-rule.updated', async (before, next) => {
        const earlier = fieldsIn(before);
        const fields = changedFields(earlier, body, before.resource_type);
        const rule = ruleText(fields, writtenBy(permit.caller, before, writtenIn(before)));
        const row = next({ ...named(body.name ?? before.name), rule });
        await checked(permit, row);
        const isSame = JSON.stringify(fields) === JSON.stringify(earlier);
        return { row, ...touching(row), lasts: isSame ? 'as before' : 'without end' };
      });
    },

    remove: (permit: Writing, id: string): Promise<void> =>
      remove(permit, id, 'use-rule.deleted', before => ({
        ...touching(before),
        lasts: 'as before',
        statements: [store.useRules.remove(id, before.revision)],
      })),

    /** Whether the rules of a secret would allow a call, and why not. Nothing is sent. */
    async check(permit: Writing, { secret_id, rule, ...call }: UseCheck): Promise<Verdict> {
      const secret = await records
        .find(permit, 'secret', secret_id)
        .catch(notFoundAs(() => noSuch('secret_id')));
      const rows = (await store.useRules.ofResource(secret.id)).map(stamps.useRule.believe);
      const named = rows.filter(({ id }) => rule === undefined || id === rule);
      await guard.confirm(permit);
      return verdictOf(named.map(callRuleOf), parsedCall(call));
    },
  };
}

function ruleChange<A extends Action = never>(row: MaybeAllowed<UseRuleRow, A>): SubjectChange<A> {
  const { id, name, vault_id: vaultId, revision, resource_id } = row;
  return { type: 'use-rule', id, name, vaultId, revision, details: { resource_id } };
}

function noSuch(field: string): Failure {
  const what = field === 'key_id' ? 'key' : 'secret';
  return new Failure('NOT_FOUND', { field, reason: `is not the id of a ${what}` });
}
