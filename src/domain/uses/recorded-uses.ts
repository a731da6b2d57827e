/**
 * The parts that all uses of secrets and keys share: whether the access key may use at all, its limits, and the entries
 * in the request log: one with the outcome, and another one before it if the use begins with it. A refusal has one entry. The access key was identified by the
 * plane that received the request.
 */
import type { Origin, Reader } from '../../access/caller.ts';
import { Failure, statusOf } from '../../contract/errors.ts';
import type { Ledger } from '../../logs/ledger.ts';
import type { Parts } from '../kernel/parts.ts';
import { keyLimitsWith } from '../reads/key-limits.ts';
import { entryOf, type Findings, identify, newFindings, refusalOf } from '../reads/request-entries.ts';
import type { LogReference, ReadRefusal, RequestFacts } from '../reads/vault-request.ts';
import type { Visibility } from '../reads/visibility.ts';
import type { Records } from '../resources/records.ts';
import type { Holders } from './approvers.ts';
import { derivedId } from './derived-id.ts';
import type { CallRule } from './rule-records.ts';
import { type Cost, runBudgetsWith } from './run-budgets.ts';

export interface UseParts extends Parts {
  readonly ledger: Ledger;
  readonly visibility: Visibility;
  readonly records: Records;
  readonly holders: Holders;
}

export type Identified<Request extends RequestFacts> = Request & { readonly reader: Reader };

export interface Deed {
  readonly reader: Reader;
  readonly origin: Origin;
  /** What the log states about it, as far as it is known. */
  requested: string;
  /** The same at greater length, for text whose parts are all bounded. */
  tellAll(text: string): void;
  /** Resolves with the receipt once the entry is in the log; nothing may be sent before that. */
  begin(): Promise<string>;
}

interface UseDone<T> extends LogReference {
  readonly status: 200;
  readonly answer: T;
}

export type UseResult<T> = UseDone<T> | ReadRefusal;

/** What a request must be allowed, and how many uses it counts as. */
interface Admission {
  readonly may: (reader: Reader) => void;
  readonly count: number;
}

/** One use under a use rule. */
const byRules: Admission = {
  count: 1,
  may: ({ mayUse }) => {
    if (mayUse) return;
    throw new Failure('FORBIDDEN', {
      message: 'Forbidden: the access key may not use secrets or keys',
      because: 'may_not_use',
    });
  },
};

/** The status of the entry written before a call is sent: processing. */
const begun = 102;

export function recordedUsesWith(parts: UseParts) {
  const { ledger, newId } = parts;
  const limits = keyLimitsWith(parts);
  const budgets = runBudgetsWith(parts);

  async function admit(
    { reader, sender }: Identified<RequestFacts>,
    findings: Findings,
    { may, count }: Admission,
  ): Promise<void> {
    identify(findings, reader);
    if (reader.rateLimit !== null) await limits.countRequest(reader.countedAs, reader.rateLimit, count);
    if (reader.maxUses !== null) {
      await limits.countUse(reader, { ...sender, requestId: findings.requestId! }, count);
    }
    may(reader);
  }

  async function run<T>(
    request: Identified<RequestFacts>,
    perform: (deed: Deed) => Promise<T>,
    admission: Admission = byRules,
  ): Promise<UseResult<T>> {
    const findings = newFindings(request);
    const requestId = findings.requestId ?? newId();
    findings.requestId = requestId;
    const deed: Deed = {
      reader: request.reader,
      origin: { ...request.sender, requestId },
      set requested(text: string) {
        findings.requested = text;
      },
      get requested() {
        return findings.requested;
      },
      tellAll(text) {
        findings.requested = text;
        findings.isFull = true;
      },
      begin: () => ledger.record(entryOf(request, findings, begun)),
    };
    let done: { answer: T } | { failure: Failure };
    try {
      await admit(request, findings, admission);
      done = { answer: await perform(deed) };
    } catch (error) {
      done = { failure: error instanceof Failure ? error : new Failure('INTERNAL_ERROR', { cause: error }) };
    }
    const status = 'failure' in done ? statusOf[done.failure.code] : 200;
    const entry =
      'failure' in done ? refusalOf(request, findings, done.failure) : entryOf(request, findings, status);
    const receipt = await ledger.record(entry);
    return 'failure' in done
      ? { status, failure: done.failure, receipt, requestId }
      : {
          status: 200,
          answer: { ...done.answer, ...reference(done.answer, requestId, receipt) },
          receipt,
          requestId,
        };
  }

  /**
   * Counts a call under its rule when it is about to be sent. A call that waits for approval, or was refused, doesn't
   * use up the limit for others: it counts only among the attempts of its access key. A call of a run counts in its
   * budgets too. Returns how long its answer may be.
   */
  async function countUnder(
    { id, rate_limit: limit }: Pick<CallRule, 'id' | 'rate_limit'>,
    deed: Pick<Deed, 'reader' | 'origin'>,
    cost: Cost,
    approved: (() => Promise<unknown>) | null,
  ): Promise<number> {
    const { countedAs } = deed.reader;
    if (limit !== null && approved !== null) {
      await limits.countRequest(derivedId('attempts', id, countedAs), limit);
      await limits.refuseOver(id, limit);
    }
    if (approved !== null) {
      // An approval is not used up for a call that is refused anyway.
      await budgets.check(deed.reader, cost);
      await approved();
    }
    if (limit !== null) await limits.countRequest(id, limit);
    return budgets.take(deed, cost);
  }

  return { run, countUnder, settle: budgets.settle };
}

/** The reference to the log entry, if the answer has one. */
function reference(answer: unknown, request_id: string, receipt: string) {
  return 'receipt' in (answer as object) ? { request_id, receipt } : {};
}
