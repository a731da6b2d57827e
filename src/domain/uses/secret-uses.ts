/**
 * Uses a secret without revealing it: the service makes the call that an access key requests, if a use rule allows it
 * and, where the rule requires it, a person approved exactly this call (`secret-calls.ts`).
 */
import { Failure } from '../../contract/errors.ts';
import type { UseAnswer, UseCall, Verdict } from '../../contract/uses.ts';
import type { BrokeredResult } from '../../egress/brokered-answer.ts';
import type { RequestFacts } from '../reads/vault-request.ts';
import { notAllowed, parsedCall } from './judging.ts';
import type { Minted } from './minting.ts';
import { type Deed, type Identified, recordedUsesWith, type UseResult } from './recorded-uses.ts';
import { type CallRule, callRuleOf } from './rule-records.ts';
import { rulesOfRun } from './run-records.ts';
import { type SecretCalls, type SecretUseParts, secretCallsWith } from './secret-calls.ts';
import { targetsOfUsesWith } from './use-targets.ts';
import { judged, verdictOf } from './verdicts.ts';

export interface UseRequest extends RequestFacts {
  /** If it could not be parsed, the failure is thrown after the credential was checked. */
  readonly call: UseCall | Failure;
}

export interface SecretUses {
  readonly use: (request: UseRequest) => Promise<UseResult<UseAnswer | Verdict>>;
}

/** The same for requests whose access key was identified. */
export type IdentifiedSecretUses = ReturnType<typeof secretUsesWith>;

export type { SecretUseParts } from './secret-calls.ts';

export function secretUsesWith(parts: SecretUseParts, calls: SecretCalls = secretCallsWith(parts)) {
  const using = recordedUsesWith(parts);
  const usable = targetsOfUsesWith(parts, 'secret', callRuleOf);

  async function perform(deed: Deed, request: UseRequest): Promise<UseAnswer | Verdict> {
    const { reader } = deed;
    const asked = understood(request.call);
    deed.requested = 'secret=use';
    const call = parsedCall(asked);
    const { vault, row, rules } = await usable(reader, asked.secret);
    const own = rulesOfRun(reader, rules);
    const named = asked.rule === undefined ? own : own.filter(({ id }) => id === asked.rule);
    deed.requested = `secret=use ${row.name}`;
    if (asked.dry_run) {
      deed.requested = `secret=use dry-run ${row.name}`;
      return verdictOf(named, call);
    }
    const { rule, refusals } = judged(named, call);
    if (rule === null) throw notAllowed(refusals);
    const { result, minted } = await calls.make(deed, { reader, vault, row, rules, rule, call });
    return answerOf(rule, result, minted);
  }

  return {
    use: (request: Identified<UseRequest>): Promise<UseResult<UseAnswer | Verdict>> =>
      using.run(request, deed => perform(deed, request)),
  };
}

function understood(call: UseCall | Failure): UseCall {
  if (call instanceof Failure) throw call;
  return call;
}

function answerOf(
  { id }: CallRule,
  { outcome, reason, status, headers, body, bodyBase64 }: BrokeredResult,
  minted: Minted,
): UseAnswer {
  return {
    outcome,
    reason,
    status,
    headers: { ...headers },
    body,
    body_base64: bodyBase64,
    redacted: 0,
    ...minted,
    rule: id,
    request_id: '',
    receipt: '',
  };
}
