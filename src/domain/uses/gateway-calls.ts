/**
 * Calls through the gateway: programs that send ordinary requests to `/via/{rule}/…` instead of to the service that the
 * rule names. The request becomes a call with the rule's secret, judged, approved, limited and recorded like any other
 * (`secret-calls.ts`). Unlike an agent, a program can't leave out headers that the rule does not allow, so they are
 * dropped. Without limits for the gateway, a rule's own limits apply.
 */
import { Failure, invalid } from '../../contract/errors.ts';
import { type UseMethod, useMethods } from '../../contract/use-names.ts';
import { isReservedHeader } from '../../contract/use-rules.ts';
import type { Outlet, PassedOn, Pieces } from '../../egress/passed-on.ts';
import type { RequestFacts } from '../reads/vault-request.ts';
import type { VerifiedResource } from '../reads/visibility.ts';
import { notAllowed, type ParsedCall, parsedCall, type UseRefusal } from './judging.ts';
import { type Deed, type Identified, recordedUsesWith, type UseResult } from './recorded-uses.ts';
import { type CallRule, callRuleOf } from './rule-records.ts';
import { rulesOfRun } from './run-records.ts';
import { type SecretCalls, type SecretUseParts, secretCallsWith } from './secret-calls.ts';
import { judged, needsApproval } from './verdicts.ts';

export type { Outlet, Pieces } from '../../egress/passed-on.ts';

export interface GatewayRequest extends RequestFacts {
  /** The id of a use rule, or its name. */
  readonly rule: string;
  /** What follows the rule in the request's target: a path, and its query. */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Null if there is none. */
  readonly body: Pieces | null;
  /** As declared; null if it is not known. */
  readonly length: number | null;
}

/** Gets the answer's beginning, together with the receipt of the call's first entry. */
export type OpenOutlet = (receipt: string) => Outlet;

export interface GatewayAnswer extends PassedOn {
  /** The receipt of the entry that was written before the call. */
  readonly begun: string;
}

export type GatewayCalls = ReturnType<typeof gatewayCallsWith>;

/** In bytes: how much of a body is judged before anything is sent. */
const mostJudged = 64 * 1024;

interface Limits {
  readonly max_request: number;
  readonly max_response: number;
  readonly timeout: number;
}

export function gatewayCallsWith(parts: SecretUseParts, calls: SecretCalls = secretCallsWith(parts)) {
  const { store, stamps, visibility } = parts;
  const using = recordedUsesWith(parts);

  /** The rules of this name whose secret the access key can see. */
  async function rulesOf({ reader }: Deed, name: string): Promise<Found[]> {
    const found: Found[] = [];
    for (const stored of rulesOfRun(reader, await store.useRules.named(reader.vaultId, name))) {
      const rule = stamps.useRule.believe(stored);
      if (rule.resource_type !== 'secret') continue;
      const row = await visibility.byId(reader, rule.resource_id, 'secret').catch(unseen);
      if (row !== null) found.push({ row, rule: callRuleOf(rule) });
    }
    if (found.length === 0) throw new Failure('NOT_FOUND');
    return found;
  }

  async function perform(deed: Deed, request: GatewayRequest, open: OpenOutlet): Promise<GatewayAnswer> {
    deed.requested = 'secret=use';
    const rules = await rulesOf(deed, request.rule);
    const { method } = request;
    if (!isKnown(method))
      throw notAllowed([{ field: 'method', reason: 'is not among the methods of the rule' }]);
    const { start, rest } = await startOf(request.body);
    const choices = rules.map(found => ({ ...found, call: callOf(found.rule, method, request, start) }));
    const { row, rule, call } = allowed(choices);
    deed.requested = `secret=use ${row.name}`;
    if (rest !== null) checkLong(rule, call);
    const vault = await visibility.openVault(deed.reader);
    const limits = limitsOf(rule);
    return calls.passOn(
      deed,
      { reader: deed.reader, vault, row, rules: await allOf(row), rule: within(rule, limits), call },
      {
        rest,
        length: rest === null ? null : request.length,
        maxRequest: limits.max_request,
        isWhole: rule.gateway === null,
        begin: open,
      },
    );
  }

  /** All rules of a secret: a suspension ends when one of them changes. */
  async function allOf({ id }: VerifiedResource): Promise<CallRule[]> {
    return (await store.useRules.ofResource(id)).map(row => callRuleOf(stamps.useRule.believe(row)));
  }

  return {
    forward: (request: Identified<GatewayRequest>, open: OpenOutlet): Promise<UseResult<GatewayAnswer>> =>
      using.run(request, deed => perform(deed, request, open)),
  };
}

interface Found {
  readonly row: VerifiedResource;
  readonly rule: CallRule;
}

/** What the access key can't see doesn't exist for it. */
function unseen(error: unknown): null {
  if (error instanceof Failure && error.code === 'NOT_FOUND') return null;
  throw error;
}

function isKnown(method: string): method is UseMethod {
  return (useMethods as readonly string[]).includes(method);
}

/** The first rule that allows its call. */
function allowed<Choice extends Found & { readonly call: ParsedCall }>(choices: readonly Choice[]): Choice {
  const refusals: UseRefusal[] = [];
  for (const choice of choices) {
    if (choice.rule.response === 'store') {
      refusals.push({ field: 'rule', reason: 'stores a field of the response, which the gateway can’t' });
      continue;
    }
    const verdict = judged([within(choice.rule, limitsOf(choice.rule))], choice.call);
    if (verdict.rule !== null) return choice;
    refusals.push(...verdict.refusals);
  }
  throw notAllowed(refusals);
}

function limitsOf(rule: CallRule): Limits {
  return rule.gateway ?? rule;
}

function within(rule: CallRule, { max_request, max_response, timeout }: Limits): CallRule {
  return { ...rule, max_request, max_response, timeout };
}

/** The request as a call to the rule's first host. */
function callOf(
  { hosts: [host], request_headers: allowed, place }: CallRule,
  method: UseMethod,
  { path, headers: sent }: GatewayRequest,
  start: Buffer | null,
): ParsedCall {
  const isPlaced = (name: string) => place.type === 'header' && place.name === name;
  const headers = sent.filter(
    ([name]) => allowed.includes(name) && !isReservedHeader(name) && !isPlaced(name),
  );
  const base = host!.startsWith('http://') ? host! : `https://${host}`;
  return parsedCall({
    method,
    url: `${base}${path}`,
    headers: Object.fromEntries(headers),
    bytes: start ?? undefined,
  });
}

/** A body that is too long to be judged as a whole can only be passed on. */
function checkLong(rule: CallRule, call: ParsedCall): void {
  const tooLong = (why: string) => invalid('body', `must be at most ${mostJudged} bytes, because ${why}`);
  if (needsApproval(rule, call)) throw tooLong('a person has to approve it');
  if (rule.place.type === 'json' || rule.place.type === 'form') throw tooLong('the value goes into it');
  if (rule.gateway === null) throw tooLong('the rule has no limits for the gateway');
}

interface Start {
  readonly start: Buffer | null;
  /** What follows; null if that was all. */
  readonly rest: Pieces | null;
}

async function startOf(body: Pieces | null): Promise<Start> {
  if (body === null) return { start: null, rest: null };
  const pieces = body[Symbol.asyncIterator]();
  const gathered: Buffer[] = [];
  for (let size = 0; size <= mostJudged; ) {
    const next = await pieces.next();
    if (next.done) return { start: size === 0 ? null : Buffer.concat(gathered), rest: null };
    gathered.push(next.value);
    size += next.value.length;
  }
  return { start: Buffer.concat(gathered), rest: { [Symbol.asyncIterator]: () => pieces } };
}
