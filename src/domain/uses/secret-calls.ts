/**
 * Makes calls with a secret for an access key, once a rule was found that allows them. A call is in the request log
 * before it is sent, and its outcome before anything of the response is returned; if either can't be written, nothing
 * is sent or returned. A response that is passed on while it arrives is complete only once its outcome is in the log.
 */
import type { Reader } from '../../access/caller.ts';
import { invalid } from '../../contract/errors.ts';
import type { BrokeredCall, BrokeredResult } from '../../egress/brokered-answer.ts';
import type { Broker } from '../../egress/brokered-call.ts';
import type { Outlet, PassedCall, PassedOn } from '../../egress/passed-on.ts';
import { isRecognisable, isTooLong } from '../../egress/scrubbing.ts';
import type { VerifiedResource } from '../reads/visibility.ts';
import type { OpenVault } from '../resources/sealing.ts';
import { type ApprovedCall, approvalRequestsWith, fingerprintOf } from './approval-requests.ts';
import type { Concurrency } from './concurrency.ts';
import { isWrite, type ParsedCall, patternFor } from './judging.ts';
import { mintingWith } from './minting.ts';
import { placed, placeInWords, secretOf, shownPlaced } from './placing.ts';
import { type Deed, recordedUsesWith, type UseParts } from './recorded-uses.ts';
import type { CallRule } from './rule-records.ts';
import { refusedUse, type Suspect, suspensionsWith } from './suspensions.ts';
import { needsApproval } from './verdicts.ts';

export interface SecretUseParts extends UseParts {
  readonly broker: Broker;
  readonly slots: Concurrency;
}

/** A call, and the rule that allows it. */
export interface Chosen extends Suspect {
  readonly reader: Reader;
  readonly vault: OpenVault;
  readonly row: VerifiedResource;
  readonly rule: CallRule;
  readonly call: ParsedCall;
}

export type SecretCalls = ReturnType<typeof secretCallsWith>;

interface Prepared {
  readonly order: BrokeredCall;
  /** In bytes: what the call may take of its run's budget. */
  readonly reserved: number;
  /** What the log states about the call. */
  readonly what: string;
  readonly receipt: string;
}

type Passing = Pick<PassedCall, 'rest' | 'length' | 'maxRequest' | 'isWhole'> & {
  readonly begin: (receipt: string) => Outlet;
};

type Outcome = Pick<BrokeredResult, 'status' | 'bytes' | 'redacted' | 'parts'> & { readonly outcome: string };

const tool = 'secrets.use';

export function secretCallsWith(parts: SecretUseParts) {
  const { store, visibility, broker, slots } = parts;
  const using = recordedUsesWith(parts);
  const approvals = approvalRequestsWith(parts);
  const minting = mintingWith(parts);
  const suspensions = suspensionsWith(parts);

  /** Everything that comes before the call is sent: the checks, the approval, the count and the entry in the log. */
  async function prepare(deed: Deed, chosen: Chosen, length: number): Promise<Prepared> {
    const { reader, vault, row, rule, call } = chosen;
    const { value, values } = await visibility.opened(row, vault);
    const wanted = orderOf(chosen, value, values);
    await refuseGuessing(chosen, wanted);
    const approved = approvedCall(chosen);
    const what = `secret=use ${call.method} ${call.origin}${patternFor(rule, call)} call=${fingerprintOf(reader, approved)}`;
    deed.requested = `${what} ${row.name}`;
    const approve = () => approvals.take(deed, vault, approved);
    const cost = { isWrite: isWrite(call.method), body: length, answer: wanted.maxResponse };
    const maxResponse = await using.countUnder(rule, deed, cost, wanted.isOnce ? approve : null);
    const order = { ...wanted, maxResponse };
    return { order, what, reserved: length + maxResponse, receipt: await deed.begin() };
  }

  async function make(deed: Deed, chosen: Chosen) {
    const length = chosen.call.body?.length ?? 0;
    const { order, what, reserved } = await prepare(deed, chosen, length);
    const result = await unlessReturned(chosen, order, await broker.call(order));
    if (isMeasured(result)) await using.settle(deed, reserved - length - result.bytes);
    const { rule } = chosen;
    const minted = result.minted === null ? { stored: null } : await minting.store(deed, rule, result.minted);
    await settle(deed, chosen, what, result);
    return { result, minted };
  }

  /** Passes the response on while it arrives. `begin` gets the receipt of the entry that was written before. */
  async function passOn(
    deed: Deed,
    chosen: Chosen,
    { begin, ...passing }: Passing,
  ): Promise<PassedOn & { readonly begun: string }> {
    const most = mostSent(chosen, passing);
    const { order, what, reserved, receipt: begun } = await prepare(deed, chosen, most);
    const isStill = () => isUnchanged(chosen);
    const sent = counted(chosen.call.body, passing.rest);
    const call = { ...order, ...passing, maxRequest: Math.min(most, passing.maxRequest), rest: sent.rest };
    const result = await broker.passOn({ ...call, isStill }, begin(begun));
    if (isMeasured(result)) await using.settle(deed, reserved - sent.length() - result.bytes);
    await settle(deed, chosen, what, result);
    return { ...result, begun };
  }

  /** Counts the parts of the value that the response contained, and states the outcome in the log. */
  async function settle(deed: Deed, chosen: Chosen, what: string, result: Outcome): Promise<void> {
    const { outcome, status, bytes, redacted, parts } = result;
    if (parts > 0) await suspensions.count(chosen, parts);
    const found = parts > 0 ? 'part-of-value' : `redacted=${redacted}`;
    deed.requested = `${what.replace('=use', '=used')} ${outcome}=${status ?? ''} ${bytes}B ${found} ${chosen.row.name}`;
    // Of several concurrent calls, none reveals more than the first few did.
    if (chosen.rule.response === 'full' && parts === 0 && (await suspensions.isSuspended(chosen)))
      throw refusedUse('use_suspended');
  }

  /** Whether a call in progress would still be made: nothing that it was judged by has changed since. */
  async function isUnchanged({ reader, row, rule }: Chosen): Promise<boolean> {
    const found = await store.useRules.byId(reader.organizationId, rule.id);
    const now = await store.resources.byId(reader.organizationId, row.id);
    return found?.revision === rule.revision && now?.revision === row.revision;
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

  /** Within the number of calls that an access key may have in progress. */
  const within =
    <Given extends unknown[], T>(run: (deed: Deed, chosen: Chosen, ...given: Given) => Promise<T>) =>
    (deed: Deed, chosen: Chosen, ...given: Given): Promise<T> =>
      slots.within(chosen.reader.countedAs, () => run(deed, chosen, ...given));

  return { make: within(make), passOn: within(passOn) };
}

/** In bytes: the body, as far as it arrived, or as long as it is declared to be, or may be. */
function mostSent({ call }: Chosen, { rest, length, maxRequest }: Omit<Passing, 'begin'>): number {
  return rest === null ? (call.body?.length ?? 0) : (length ?? maxRequest);
}

/** Of an answer that was withheld or cut off it is not known how much of it arrived, so all stays reserved. */
function isMeasured({ outcome, status }: Outcome): boolean {
  return outcome === 'answered' || (outcome === 'failed' && status === null);
}

/** Counts the bytes of a body while they are passed on. */
function counted(start: Buffer | null, rest: Passing['rest']) {
  let length = start?.length ?? 0;
  async function* passed(pieces: NonNullable<Passing['rest']>) {
    for await (const piece of pieces) {
      length += piece.length;
      yield piece;
    }
  }
  return { length: () => length, rest: rest && passed(rest) };
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
