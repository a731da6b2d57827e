/**
 * The vault read is the only way to read the contents of a vault, for the vault endpoint and the tools. It
 * authenticates the caller, counts the key's own limits, reads, and records the request; it returns nothing before
 * that entry is durable. Refusals are recorded like answers. If the log can't be written, there is no answer.
 */
import type { Reader } from '../../access/caller.ts';
import { Failure, statusOf } from '../../contract/errors.ts';
import { entryIdOf } from '../../logs/chain.ts';
import type { Ledger } from '../../logs/ledger.ts';
import { type Authenticator, Refused } from '../credentials/authentication.ts';
import { TimedTurns } from '../kernel/fair-turns.ts';
import type { Parts } from '../kernel/parts.ts';
import type { DependsOn } from '../resources/references.ts';
import { AnswerCache, answerMemory, type CachedAnswer, type VaultAnswer } from './answer-cache.ts';
import { attributionWith } from './attribution.ts';
import { keyLimitsWith } from './key-limits.ts';
import {
  containedEntries,
  entryOf,
  type Findings,
  identify,
  newFindings,
  none,
  refusalOf,
} from './request-entries.ts';
import type { ToolAnswers } from './tool-answers.ts';
import type { VaultAnswers } from './vault-answers.ts';
import {
  type AccessKeyRead,
  type PublicTokenRead,
  type ReadRefusal,
  type ReadResult,
  type RequestFacts,
  requestedText,
  type Selection,
  selectionKey,
  type VaultRequest,
} from './vault-request.ts';
import type { Turns } from './visibility.ts';

export type VaultReads = ReturnType<typeof vaultReadsWith>;

export interface VaultReadParts extends Parts {
  readonly ledger: Ledger;
  readonly authenticate: Authenticator;
  readonly vaultAnswers: VaultAnswers;
  readonly toolAnswers: ToolAnswers;
  /** How many threads share the memory for cached answers; 1 if it is not given. */
  readonly share?: number | undefined;
}

type Encoding = VaultRequest['encoding'];
type NamedVault = Extract<Selection, { of: 'named-vault' }>;

/** An answer before its entry is in the log. A cached answer stays sealed until then. */
type Prepared =
  | { cached: CachedAnswer }
  | { answer: VaultAnswer }
  | { unchanged: string }
  | { failure: Failure };

export function vaultReadsWith(parts: VaultReadParts) {
  const { store, ledger, authenticate, vaultAnswers, toolAnswers, now, newId, meter } = parts;
  const cache = new AnswerCache(store, answerMemory / (parts.share ?? 1));
  const fairTurns = new TimedTurns();
  const hit = meter.counter('strongroom_answer_cache_total', { result: 'hit' });
  const miss = meter.counter('strongroom_answer_cache_total', { result: 'miss' });
  const limits = keyLimitsWith(parts);
  const attribute = attributionWith(store, authenticate);

  /** Handles the case that needs no waiting: a known connection requests a cached answer. */
  function prepareAtOnce(request: AccessKeyRead, findings: Findings): Prepared | null {
    const { connection, token, vaultId, sender } = request;
    const reader = authenticate.remembered(connection, token, vaultId, sender);
    if (reader === null) return null;
    identify(findings, reader);
    return findCached(reader, request, findings);
  }

  async function prepare(request: AccessKeyRead, findings: Findings): Promise<Prepared> {
    const { token, vaultId, sender } = request;
    const reader = await (vaultId === null
      ? authenticate.accessKeyAnywhere(token, sender)
      : authenticate.accessKey(token, vaultId, sender));
    authenticate.remember(request.connection, token, reader);
    identify(findings, reader);
    if (reader.rateLimit !== null) await limits.countRequest(reader.countedAs, reader.rateLimit);
    if (reader.maxUses !== null) {
      findings.requestId ??= newId(); // Two entries describe this request; both name it.
      await limits.countUse(reader, { ...sender, requestId: findings.requestId });
    }
    return findCached(reader, request, findings) ?? load(reader, request, findings);
  }

  function findCached(reader: Reader, request: AccessKeyRead, findings: Findings): Prepared | null {
    const key = cacheKey(reader, understood(request.selection), request.encoding);
    const cached = key === null ? undefined : cache.peek(reader.vaultId, key, now());
    if (cached === undefined) return null;
    hit();
    findings.requested = cached.requested;
    findings.contained = cached.templates?.contained ?? none;
    return isKnown(request.knownDigests, cached) ? { unchanged: cached.digest } : { cached };
  }

  async function load(reader: Reader, request: AccessKeyRead, findings: Findings): Promise<Prepared> {
    miss();
    const selection = understood(request.selection);
    findings.requested = requestedText(selection);
    const key = cacheKey(reader, selection, request.encoding);
    const lane = { organization: reader.organizationId, key: reader.countedAs };
    const make = (dependsOn: DependsOn) =>
      fairTurns.do(lane, async work =>
        encoded(await answerTo(reader, selection, { ...work, dependsOn }), request.encoding),
      );
    const answer = await (key === null ? make(() => {}) : cache.load(reader.vaultId, key, make));
    findings.requested = answer.requested;
    findings.contained = answer.templates?.contained ?? none;
    return isKnown(request.knownDigests, answer) ? { unchanged: answer.digest } : { answer };
  }

  function answerTo(reader: Reader, selection: Selection, turns: Turns): Promise<VaultAnswer> {
    switch (selection.of) {
      case 'vault':
        return vaultAnswers.vault(reader, selection, turns);
      case 'resource':
        return vaultAnswers.resource(reader, selection.id, turns);
      case 'values':
        return vaultAnswers.values(reader, selection.format, turns);
      case 'kind':
        return toolAnswers.kind(reader, selection, turns);
      case 'item':
        return toolAnswers.item(reader, selection, turns);
      case 'access-key':
        return toolAnswers.accessKey(reader);
      case 'named-vault':
        return answerInNamedVault(reader, selection, turns);
    }
  }

  /** If the request names the vault by anything but its own name, it is a vault that the access key can't open. */
  async function answerInNamedVault(reader: Reader, { name, selection }: NamedVault, turns: Turns) {
    if ((await toolAnswers.vaultName(reader)) !== name)
      throw new Failure('UNAUTHORIZED', { because: 'wrong_vault' });
    return answerTo(reader, selection, turns);
  }

  /** A token for another key is an invalid token, so that it doesn't disclose whether that key exists. */
  async function preparePublicHalf(request: PublicTokenRead, findings: Findings): Promise<Prepared> {
    const { token, keyId, sender } = request;
    findings.requested = 'key';
    const proven = await authenticate.publicToken(token, sender);
    identify(findings, proven);
    if (keyId !== null && keyId !== proven.keyId) throw new Failure('UNAUTHORIZED', { because: 'wrong_key' });
    const answer = await (request.keySet === undefined
      ? toolAnswers.publicHalf(proven.organizationId, proven.keyId)
      : toolAnswers.keySet(proven, request.vaultId, request.keySet));
    findings.requested = answer.requested;
    return { answer: encoded(answer, request.encoding) };
  }

  function preparing(request: VaultRequest, findings: Findings): Prepared | Promise<Prepared> {
    const refused = (error: unknown) => refusal(request, findings, error);
    if (request.by === 'public-token') return preparePublicHalf(request, findings).catch(refused);
    try {
      const prepared = prepareAtOnce(request, findings);
      if (prepared !== null) return prepared;
    } catch (error) {
      return refused(error);
    }
    return prepare(request, findings).catch(refused);
  }

  async function refusal(request: VaultRequest, findings: Findings, error: unknown): Promise<Prepared> {
    const failure = error instanceof Failure ? error : new Failure('INTERNAL_ERROR', { cause: error });
    const isStranger = findings.credentialId === null;
    if (isStranger && failure instanceof Refused) Object.assign(findings, await attribute(request, failure));
    return { failure };
  }

  /** Nothing is decrypted or returned before the entry is durable. */
  async function logged(request: RequestFacts, findings: Findings, prepared: Prepared): Promise<ReadResult> {
    if ('failure' in prepared) return loggedRefusal(request, findings, prepared.failure);
    const status = 'unchanged' in prepared ? 304 : 200;
    const receipt = await (findings.contained.length === 0
      ? ledger.record(entryOf(request, findings, status))
      : recordAll(request, findings, status));
    const requestId = findings.requestId ?? entryIdOf(receipt);
    if ('unchanged' in prepared) return { status: 304, digest: prepared.unchanged, receipt, requestId };
    const body = 'cached' in prepared ? cache.open(prepared.cached) : prepared.answer.body;
    const { format, digest, templates } = 'cached' in prepared ? prepared.cached : prepared.answer;
    return { status: 200, format, digest, unresolved: templates?.unresolved, body, receipt, requestId };
  }

  /** The values of other secrets that an answer contains have their own entries, in the logs of their vaults. */
  async function recordAll(request: RequestFacts, findings: Findings, status: number): Promise<string> {
    findings.requestId ??= newId();
    const [receipt] = await Promise.all([
      ledger.record(entryOf(request, findings, status)),
      ...containedEntries(request, findings, status).map(entry => ledger.record(entry)),
    ]);
    return receipt!;
  }

  async function loggedRefusal(request: RequestFacts, findings: Findings, failure: Failure) {
    const receipt = await ledger.record(refusalOf(request, findings, failure));
    const requestId = findings.requestId ?? entryIdOf(receipt);
    return { status: statusOf[failure.code], failure, receipt, requestId };
  }

  return {
    read(request: VaultRequest): Promise<ReadResult> {
      const findings = newFindings(request);
      const prepared = preparing(request, findings);
      return prepared instanceof Promise
        ? prepared.then(late => logged(request, findings, late))
        : logged(request, findings, prepared);
    },

    /** Records a request that is refused before the caller is known. Nothing is read for it. */
    async refuse(request: RequestFacts, failure: Failure): Promise<ReadRefusal> {
      const findings = newFindings(request);
      Object.assign(findings, await attribute(request, failure));
      return loggedRefusal(request, findings, failure);
    },
  };
}

function understood(selection: Selection | Failure): Selection {
  if (selection instanceof Failure) throw selection;
  return selection;
}

/**
 * The client's input comes last, after a line break, which no view contains, so that no name can imitate another
 * view. Null for an access key's description of itself, which is created each time and never cached.
 */
function cacheKey({ view }: Reader, selection: Selection, encoding: Encoding): string | null {
  const selected = selectionKey(selection);
  return selected === null ? null : `${view}\n${encoding?.name ?? ''} ${selected}`;
}

function encoded(answer: VaultAnswer, encoding: Encoding): VaultAnswer {
  if (encoding == null) return answer;
  return { ...answer, body: encoding.encode(answer.body, answer.templates?.unresolved ?? []) };
}

function isKnown<A extends Pick<VaultAnswer, 'digest'>>(
  knownDigests: readonly string[],
  answer: A,
): answer is A & { readonly digest: string } {
  return answer.digest !== null && knownDigests.includes(answer.digest);
}
