/**
 * Whether a caller may set a plan. A random value gives its author nothing, so writing the secret is enough. What
 * obtains a value elsewhere, or sends one, is as good as reading it: that requires the permission to read the secrets of
 * the vault, and to set up what the plan uses, its use rules or its issuer.
 */
import { invalid } from '../../contract/errors.ts';
import type { RotationBy, RotationCall } from '../../contract/rotations.ts';
import type { UseRuleRow } from '../../store/records/use-rules.ts';
import type { Parts } from '../kernel/parts.ts';
import { reachesOut } from '../resources/rotation-plans.ts';
import type { JudgePlan, NewPlan } from '../resources/secrets.ts';
import { refusalBy } from '../uses/judging.ts';
import { callRuleOf } from '../uses/rule-records.ts';
import { parsedFor } from './calls.ts';
import { checkAddress, serverIn } from './postgresql-values.ts';

interface Named {
  readonly call: RotationCall;
  /** It tries the new value, so the rule must place that one. */
  readonly isTrial: boolean;
}

export function planJudgingWith({ store, stamps, guard }: Parts): JudgePlan {
  async function ruleOf(
    { caller, vaultId, secretId }: NewPlan,
    { call, isTrial }: Named,
  ): Promise<UseRuleRow> {
    const found = await store.useRules.byId(caller.organizationId, call.rule);
    if (found?.vault_id !== vaultId || found.resource_type !== 'secret')
      throw invalid('rotation', 'must name use rules of secrets in the same vault');
    if (isTrial && found.resource_id !== secretId)
      throw invalid('rotation', 'must try the new value under a use rule of the secret itself');
    const row = stamps.useRule.believe(found);
    const rule = callRuleOf(row);
    const refusal = refusalBy(rule, parsedFor(call, 'id', rule, 'id'));
    if (refusal !== null)
      throw invalid('rotation', `has a call that its use rule refuses: ${refusal.field} ${refusal.reason}`);
    return row;
  }

  async function checkIssuer({ caller, vaultId }: NewPlan, id: string): Promise<void> {
    const found = await store.issuers.byId(caller.organizationId, id);
    const isThere = found?.vault_id === vaultId && found.provider === 'postgresql';
    if (!isThere || stamps.issuer.believe(found).state !== 'ready')
      throw invalid('rotation', 'must name an issuer for PostgreSQL in the same vault');
  }

  return async given => {
    const { caller, vaultId, plan } = given;
    const { by } = plan;
    if (!reachesOut(plan)) return { plan, rules: {}, server: null };
    const setting = by.kind === 'postgresql' ? 'issuers:write' : 'use-rules:write';
    await guard.mayShow(caller, ['secrets:reveal', setting], [vaultId], {
      because: 'You can’t set a rotation that obtains or sends values',
    });
    if (by.kind === 'postgresql') {
      await checkIssuer(given, by.issuer_id);
      const value = await given.value();
      checkAddress(by, value);
      return { plan, rules: {}, server: serverIn(value) };
    }
    const rules: Record<string, number> = {};
    for (const named of callsIn(by)) {
      const { id, revision } = await ruleOf(given, named);
      rules[id] = revision;
    }
    return { plan, rules, server: null };
  };
}

function callsIn(by: RotationBy): Named[] {
  if (by.kind === 'postgresql') return [];
  if (by.kind === 'random') return by.confirm === undefined ? [] : [{ call: by.confirm, isTrial: true }];
  const { value: _, id: __, ...create } = by.create;
  return [
    { call: create, isTrial: false },
    ...(by.try === undefined ? [] : [{ call: by.try, isTrial: true }]),
    ...(by.delete === undefined ? [] : [{ call: by.delete, isTrial: false }]),
  ];
}
