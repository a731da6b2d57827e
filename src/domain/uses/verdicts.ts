/** What the rules of a secret decide about a call: the first rule that allows it, or why each of them doesn't. */
import type { Verdict } from '../../contract/uses.ts';
import { isWrite, type ParsedCall, refusalBy, type UseRefusal } from './judging.ts';
import type { CallRule } from './rule-records.ts';

export interface Judged {
  readonly rule: CallRule | null;
  readonly refusals: readonly (UseRefusal & { readonly rule: string; readonly name: string })[];
}

export function judged(rules: readonly CallRule[], call: ParsedCall): Judged {
  const refusals: Judged['refusals'][number][] = [];
  for (const rule of rules) {
    const refusal = refusalBy(rule, call);
    if (refusal === null) return { rule, refusals };
    refusals.push({ rule: rule.id, name: rule.name, ...refusal });
  }
  return { rule: null, refusals };
}

export function verdictOf(rules: readonly CallRule[], call: ParsedCall): Verdict {
  const { rule, refusals } = judged(rules, call);
  return {
    allowed: rule !== null,
    rule: rule?.id ?? null,
    approval: rule !== null && needsApproval(rule, call),
    refusals: rule === null ? [...refusals] : [],
  };
}

export function needsApproval({ approval }: CallRule, { method }: ParsedCall): boolean {
  return approval === 'always' || (approval === 'writes' && isWrite(method));
}
