/**
 * The calls of a plan. Each is made under a use rule of a secret in the same vault, which decides where it may go and
 * where the value is placed, and is checked against that rule every time. What comes back is not kept, except for the
 * new value and its id.
 */
import type { RotationCall } from '../../contract/rotations.ts';
import type { BrokeredCall, BrokeredResult } from '../../egress/brokered-answer.ts';
import type { Broker } from '../../egress/brokered-call.ts';
import type { UseRuleRow } from '../../store/records/use-rules.ts';
import type { Parts } from '../kernel/parts.ts';
import { stateAt } from '../resources/lifecycle.ts';
import type { Records } from '../resources/records.ts';
import { isReviewed } from '../resources/sealing.ts';
import { kindOf } from '../resources/templates.ts';
import { type ParsedCall, parsedCall, refusalBy } from '../uses/judging.ts';
import { placed, secretOf } from '../uses/placing.ts';
import { type CallRule, callRuleOf } from '../uses/rule-records.ts';
import { RotationFailure, RotationImpossible, type Task } from './methods.ts';

export type RotationCalls = ReturnType<typeof rotationCallsWith>;

interface Asked {
  /** The value of the secret that rotates, which the rule places if it is one of that secret. */
  readonly value: string;
  /** In place of `{id}`. */
  readonly remoteId?: string | null;
  readonly pointers?: { readonly value: string; readonly id: string | undefined };
}

const repeatable = 'idempotency-key';

export function rotationCallsWith({ store, stamps, now }: Parts, records: Records, broker: () => Broker) {
  async function ruleFor({ row, vault, planned }: Task, id: string) {
    const found = await store.useRules.byId(row.organization_id, id);
    if (found === undefined || found.vault_id !== row.vault_id)
      throw new RotationImpossible('A use rule of the rotation was deleted');
    const rule = stamps.useRule.believe(found);
    // Where changes are reviewed, the plan was confirmed with the rule as it was.
    if (isReviewed(vault.row) && planned.rules[id] !== rule.revision)
      throw new RotationFailure('A use rule was changed since the rotation was set: set it again');
    return rule;
  }

  /** The value of another secret, such as an administrator's. */
  async function valueUnder({ row, vault }: Task, resourceId: string): Promise<string> {
    const found = await store.resources.byId(row.organization_id, resourceId);
    const other = found && stamps.resource.believe(found);
    const isUsable =
      other?.type === 'secret' &&
      other.vault_id === vault.row.id &&
      other.deleted_at === null &&
      kindOf(other) === 'value' &&
      stateAt(other, now()) === 'active';
    if (!isUsable) throw new RotationFailure('The secret of a use rule is not active, or is a template');
    return (await records.currentValue(other))();
  }

  async function make(task: Task, call: RotationCall, asked: Asked): Promise<BrokeredResult> {
    const row = await ruleFor(task, call.rule);
    const rule = callRuleOf(row);
    const parsed = parsedFor(call, asked.remoteId ?? null, rule, task.id);
    const refusal = refusalBy(rule, parsed);
    if (refusal !== null)
      throw new RotationFailure(`The use rule refuses a call: ${refusal.field} ${refusal.reason}`);
    const value = row.resource_id === task.row.id ? asked.value : await valueUnder(task, row.resource_id);
    const result = await broker().call(orderOf(task, row, rule, parsed, value, asked));
    if (result.outcome === 'answered') return result;
    throw new RotationFailure(`A call failed: ${result.reason}`);
  }

  return {
    /** Throws unless the call is answered with a success. */
    async accepted(task: Task, call: RotationCall, value: string): Promise<void> {
      const { status } = await make(task, call, { value });
      if (!isSuccess(status)) throw new RotationFailure(`The new value was refused with ${status}`);
    },

    async created(task: Task, call: RotationCall, pointers: NonNullable<Asked['pointers']>) {
      const result = await make(task, call, { value: task.current, pointers });
      if (!isSuccess(result.status) || result.minted === null)
        throw new RotationFailure(`The service created no value: it answered ${result.status}`);
      if (result.minted === task.current) throw new RotationFailure('The service returned the current value');
      return { value: result.minted, remoteId: result.mintedBeside ?? null };
    },

    /** What is gone already needs no deletion. */
    async deleted(task: Task, call: RotationCall, value: string, remoteId: string | null): Promise<void> {
      const { status } = await make(task, call, { value, remoteId });
      const isGone = status === 404 || status === 410;
      if (!isSuccess(status) && !isGone)
        throw new RotationFailure(`The previous value could not be deleted: the service answered ${status}`);
    },
  };
}

function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** The call as a rule judges it. */
export function parsedFor(
  { method = 'POST', url, headers = {}, body }: RotationCall,
  remoteId: string | null,
  rule: Pick<CallRule, 'request_headers'>,
  id: string,
): ParsedCall {
  const named = Object.fromEntries(Object.entries(headers).map(([name, text]) => [name.toLowerCase(), text]));
  const isTyped = body === undefined || 'content-type' in named;
  return parsedCall({
    method,
    url: url.replaceAll('{id}', encodeURIComponent(remoteId ?? '')),
    headers: {
      ...named,
      ...(!isTyped && { 'content-type': 'application/json' }),
      // A service that knows it creates one value, however often it is asked.
      ...(rule.request_headers.includes(repeatable) && { [repeatable]: id }),
    },
    body,
  });
}

function orderOf(
  { row }: Task,
  { resource_id }: UseRuleRow,
  rule: CallRule,
  call: ParsedCall,
  value: string,
  { pointers }: Asked,
): BrokeredCall {
  return {
    ...placed(rule.place, call, value),
    secret: resource_id,
    lane: { organization: row.organization_id, key: row.id },
    isOnce: true,
    method: call.method,
    values: [secretOf(rule.place, value)],
    responseHeaders: [],
    maxResponse: rule.max_response,
    binary: false,
    response: pointers === undefined ? 'status-only' : 'store',
    pointer: pointers?.value ?? null,
    pointerBeside: pointers?.id ?? null,
    patience: rule.timeout * 1_000,
  };
}
