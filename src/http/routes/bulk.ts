/** Writes many secrets in one request. Each item is validated and authorized separately, and has its own result. */
import { z } from 'zod';
import { check } from '../../contract/check.ts';
import { Failure, invalid, statusOf } from '../../contract/errors.ts';
import { type BulkAnswer, type Secret, secretCreate, secretUpdate } from '../../contract/resources.ts';
import { id } from '../../contract/text.ts';
import type { SecretWrite } from '../../domain/resources/bulk-writes.ts';
import { ProposalMade } from '../../domain/resources/review.ts';
import { errorBody, failureOf } from '../listener/errors.ts';
import { checkExpiry } from '../listener/expiry.ts';
import type { NoticeOf } from './reviewed-writes.ts';

type Result = BulkAnswer['results'][number];

const identified = z.looseObject({ id });

type Outcome = PromiseSettledResult<Secret> & { readonly removal?: ProposalMade };

type Write = (items: readonly SecretWrite[]) => Promise<PromiseSettledResult<Secret>[]>;

/** `shown` returns a stored secret, for items that keep an expiry in the past. */
export async function bulkSecrets(
  write: Write,
  shown: (id: string) => Promise<Secret>,
  items: readonly unknown[],
  now: number,
  notice: NoticeOf,
): Promise<BulkAnswer> {
  const checkedOf = async (item: unknown): Promise<SecretWrite> => {
    const sound = writeOf(item);
    await checkExpiry(item, now, 'id' in sound ? () => shown(sound.id) : null);
    return sound;
  };
  const checked = await Promise.allSettled(items.map(checkedOf));
  const sound = checked.flatMap(item => (item.status === 'fulfilled' ? item.value : []));
  const stored = (await write(sound)).values();
  const outcomes = checked.map(item => (item.status === 'fulfilled' ? stored.next().value! : item));
  return answerOf(outcomes, notice);
}

export function answerOf(outcomes: readonly Outcome[], notice: NoticeOf): BulkAnswer {
  const results = outcomes.map((outcome, index) => resultOf(outcome, index, notice));
  // If the caller lost access before anything was stored, the whole request is refused.
  if (results.every(({ status }) => status === statusOf.UNAUTHORIZED)) throw new Failure('UNAUTHORIZED');
  const proposal = results.find(result => result.proposal !== undefined)?.proposal;
  return { results, ...(proposal === undefined ? {} : { proposal }) };
}

/** Accepted, but not all done, if a part of it waits for review. */
export function statusOfBulk({ proposal }: BulkAnswer): 200 | 202 {
  return proposal === undefined ? 200 : 202;
}

/** The stored secrets whose item contained a name. */
export function givenNames(items: readonly unknown[], { results }: BulkAnswer): Secret[] {
  return results.flatMap(({ index, secret }) =>
    secret !== undefined && 'name' in (items[index] as object) ? [secret] : [],
  );
}

function writeOf(item: unknown): SecretWrite {
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    throw invalid('', 'must be an object');
  if (!('id' in item)) return check(secretCreate, item);
  const { id: secretId, ...body } = check(identified, item);
  return { id: secretId, changes: check(secretUpdate, body) };
}

function resultOf(outcome: Outcome, index: number, notice: NoticeOf): Result {
  const { removal } = outcome;
  if (outcome.status === 'fulfilled')
    return { index, status: 200, secret: outcome.value, ...(removal ? { proposal: notice(removal) } : {}) };
  if (outcome.reason instanceof ProposalMade) return { index, status: 202, proposal: notice(outcome.reason) };
  const failure = failureOf(outcome.reason);
  // An error of the service is not an error of a single item.
  if (failure.code === 'INTERNAL_ERROR' || failure.code === 'UNAVAILABLE') throw outcome.reason;
  return { index, status: statusOf[failure.code], error: errorBody(failure).error };
}
