/** Many secrets in one request. Each item is checked, permitted and stored by itself, and answers for itself. */
import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { check } from '../contract/check.ts';
import { invalid } from '../contract/errors.ts';
import { type BulkAnswer, secretCreate, secretUpdate } from '../contract/resources.ts';
import { id } from '../contract/text.ts';
import type { Secrets } from '../vault/secrets.ts';
import { errorBody, failureOf, statusOf } from './errors.ts';

type Result = BulkAnswer['results'][number];

const identified = z.looseObject({ id });

export async function bulkSecrets(
  secrets: Secrets,
  caller: Caller,
  items: readonly unknown[],
): Promise<BulkAnswer> {
  await secrets.admitWrites(caller);
  const results = items.map(async (item, index): Promise<Result> => {
    try {
      return { index, status: 200, secret: await one(secrets, caller, item) };
    } catch (error) {
      const failure = failureOf(error);
      // What keeps us from serving at all is no single item's fault.
      if (failure.code === 'INTERNAL_ERROR' || failure.code === 'UNAVAILABLE') throw error;
      return { index, status: statusOf[failure.code], error: errorBody(failure).error };
    }
  });
  return { results: await Promise.all(results) };
}

function one(secrets: Secrets, caller: Caller, item: unknown) {
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    throw invalid('', 'must be an object');
  if (!('id' in item)) return secrets.create(caller, check(secretCreate, item));
  const { id: secretId, ...body } = check(identified, item);
  return secrets.update(caller, secretId, check(secretUpdate, body));
}
