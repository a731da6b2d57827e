/**
 * Uses a secret without revealing it: the service makes the call that an access key requests, if a use rule allows it
 * and, where the rule requires it, a person approved exactly this call. The call is in the request log before it is
 * sent, and its outcome before anything of the response is returned; if either can't be written, nothing is sent or
 * returned.
 */
import type { Reader } from '../../access/caller.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type { UseAnswer, UseCall, Verdict } from '../../contract/uses.ts';
import type { BrokeredCall, BrokeredResult } from '../../egress/brokered-answer.ts';
import type { Broker } from '../../egress/brokered-call.ts';
import { isRecognisable, isTooLong } from '../../egress/scrubbing.ts';
import type { RequestFacts } from '../reads/vault-request.ts';
import type { VerifiedResource } from '../reads/visibility.ts';
import type { OpenVault } from '../resources/sealing.ts';
import { type ApprovedCall, approvalRequestsWith, fingerprintOf } from './approval-requests.ts';
import type { Concurrency } from './concurrency.ts';
import { notAllowed, type ParsedCall, parsedCall, patternFor } from './judging.ts';
import { mintingWith } from './minting.ts';
import { placed, placeInWords, secretOf, shownPlaced } from './placing.ts';
import {
  type Deed,
  type Identified,
  recordedUsesWith,
  type UseParts,
  type UseResult,
} from './recorded-uses.ts';
import { type CallRule, callRuleOf } from './rule-records.ts';
import { refusedUse, type Suspect, suspensionsWith } from './suspensions.ts';
import { targetsOfUsesWith } from './use-targets.ts';
import { judged, needsApproval, verdictOf } from './verdicts.ts';

export interface UseRequest extends RequestFacts {
  /** If it could not be parsed, the failure is thrown after the credential was checked. */
  readonly call: UseCall | Failure;
}

export interface SecretUses {
  readonly use: (request: UseRequest) => Promise<UseResult<UseAnswer | Verdict>>;
}

/** The same for requests whose access key was identified. */
export type IdentifiedSecretUses = ReturnType<typeof secretUsesWith>;

export interface SecretUseParts extends UseParts {
  readonly broker: Broker;
  readonly slots: Concurrency;
}

interface Chosen extends Suspect {
  readonly reader: Reader;
  readonly vault: OpenVault;
  readonly row: VerifiedResource;
  readonly rule: CallRule;
  readonly call: ParsedCall;
}

const tool = 'secrets.use';

export function secretUsesWith(parts: SecretUseParts) {
  const { visibility, broker, slots } = parts;
  const using = recordedUsesWith(parts);
  const usable = targetsOfUsesWith(parts, 'secret', callRuleOf);
  const approvals = approvalRequestsWith(parts);
  const minting = mintingWith(parts);
  const suspensions = suspensionsWith(parts);

  async function perform(deed: Deed, request: UseRequest): Promise<UseAnswer | Verdict> {
    const { reader } = deed;
    const asked = understood(request.call);
    deed.requested = 'secret=use';
    const call = parsedCall(asked);
    const { vault, row, rules } = await usable(reader, asked.secret);
    const named = asked.rule === undefined ? rules : rules.filter(({ id }) => id === asked.rule);
    deed.requested = `secret=use ${row.name}`;
    if (asked.dry_run) {
      deed.requested = `secret=use dry-run ${row.name}`;
      return verdictOf(named, call);
    }
    const { rule, refusals } = judged(named, call);
    if (rule === null) throw notAllowed(refusals);
    return slots.within(reader.countedAs, () => make(deed, { reader, vault, row, rules, rule, call }));
  }

  async function make(deed: Deed, chosen: Chosen): Promise<UseAnswer> {
    const { reader, vault, row, rule, call } = chosen;
    const { value, values } = await visibility.opened(row, vault);
    const order = orderOf(chosen, value, values);
    await refuseGuessing(chosen, order);
    const approved = approvedCall(chosen);
    const what = `secret=use ${call.method} ${call.origin}${patternFor(rule, call)} call=${fingerprintOf(reader, approved)}`;
    deed.requested = `${what} ${row.name}`;
    const approve = () => approvals.take(deed, vault, approved);
    await using.countUnder(rule, reader, order.isOnce ? approve : null);
    await deed.begin();
    const result = await unlessReturned(chosen, order, await broker.call(order));
    if (result.parts > 0) await suspensions.count(chosen, result.parts);
    const stored = result.minted === null ? null : await minting.store(deed, rule, vault, result.minted);
    const { outcome, status, bytes, redacted, parts } = result;
    const found = parts > 0 ? 'part-of-value' : `redacted=${redacted}`;
    deed.requested = `${what.replace('=use', '=used')} ${outcome}=${status ?? ''} ${bytes}B ${found} ${row.name}`;
    // Of several concurrent calls, none reveals more than the first few did.
    if (rule.response === 'full' && parts === 0 && (await suspensions.isSuspended(chosen)))
      throw refusedUse('use_suspended');
    return answerOf(rule, result, stored);
  }

  /** Sends nothing for a suspended key, nor a part of the value: the response would reveal that it is one. */
  async function refuseGuessing(chosen: Chosen, { response, values, lane }: BrokeredCall): Promise<void> {
    if (response === 'full') checkScrubbed(values);
    if (await suspensions.isSuspended(chosen)) throw refusedUse('use_suspended');
    if (response !== 'full') return;
    const parts = await broker.partsIn(values, textOf(chosen.call), lane);
    if (parts === 0) return;
    await suspensions.count(chosen, parts);
    throw refusedUse('value_in_request');
  }

  /** A value that was sent is no new token: in another secret, all who may read that could read it. */
  async function unlessReturned(
    { rule, row }: Chosen,
    { values, lane }: BrokeredCall,
    result: BrokeredResult,
  ): Promise<BrokeredResult> {
    if (result.minted === null || rule.store?.secret_id === row.id) return result;
    if ((await broker.partsIn(values, Buffer.from(result.minted), lane)) === 0) return result;
    return { ...result, outcome: 'withheld', reason: 'the field to store contains the value', minted: null };
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

/** Each value is checked by itself, because a response may show only the password of a pair. */
function checkScrubbed(values: readonly string[]): void {
  const statusAlone = 'the rule must return only the status';
  if (!values.every(isRecognisable))
    throw invalid('secret', `is too short to be distinguished from other text in a response: ${statusAlone}`);
  if (values.some(isTooLong))
    throw invalid('secret', `is too long to be searched for in a response: ${statusAlone}`);
}

/** `contained` are the values that a template is made of: each is scrubbed as the whole is. */
function orderOf(
  { reader, row, rule, call }: Chosen,
  value: string,
  contained: readonly string[],
): BrokeredCall {
  return {
    ...placed(rule.place, call, value),
    secret: row.id,
    lane: { organization: reader.organizationId, key: reader.countedAs },
    isOnce: needsApproval(rule, call),
    method: call.method,
    values: [...new Set([secretOf(rule.place, value), ...contained])],
    responseHeaders: rule.response_headers,
    maxResponse: rule.max_response,
    binary: rule.binary,
    response: rule.response,
    pointer: rule.store?.pointer ?? null,
    patience: rule.timeout * 1000,
  };
}

/** Everything that the agent chose. */
function textOf({ url, headers, body }: ParsedCall): Buffer {
  return Buffer.concat([Buffer.from([url.href, ...headers.flat(), ''].join('\n')), body ?? Buffer.alloc(0)]);
}

/** The approved request is the one that is sent, with a placeholder for the value. */
function approvedCall({ row, rule, call }: Chosen): ApprovedCall {
  const { method } = call;
  const { url, headers, body } = shownPlaced(rule.place, call);
  const text = body?.toString('utf8') ?? null;
  const isText = body === null || Buffer.from(text!, 'utf8').equals(body);
  return {
    tool,
    rule,
    resource: row,
    asked: [method, url, JSON.stringify(Object.entries(headers).sort()), body?.toString('base64') ?? null],
    shown: {
      tool,
      secret: row.name,
      method,
      url,
      headers: { ...headers },
      body: isText ? text : null,
      body_base64: isText ? null : body!.toString('base64'),
      place: placeInWords(rule.place),
    },
  };
}

function answerOf(
  { id }: CallRule,
  { outcome, reason, status, headers, body, bodyBase64 }: BrokeredResult,
  stored: UseAnswer['stored'],
): UseAnswer {
  return {
    outcome,
    reason,
    status,
    headers: { ...headers },
    body,
    body_base64: bodyBase64,
    redacted: 0,
    stored,
    rule: id,
    request_id: '',
    receipt: '',
  };
}
