/** The limits of an access key beyond what it can see: requests per minute, and the total number of uses. */
import type { Origin, Reader } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import { rateWindowAt } from '../../contract/rate-window.ts';
import { faultOf } from '../credentials/credential.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import { KeyedLock } from '../kernel/keyed-lock.ts';
import type { Parts } from '../kernel/parts.ts';

export function keyLimitsWith({ store, stamps, guard, now }: Parts) {
  const lock = new KeyedLock();

  async function take(reader: Reader, origin: Origin, uses: number): Promise<void> {
    const found = await store.credentials.byId(reader.id);
    if (found === undefined) throw new Failure('UNAUTHORIZED', { because: 'revoked' });
    const before = stamps.credential.believe(found);
    const fault = faultOf(before, now());
    if (fault !== null) throw new Failure('UNAUTHORIZED', { because: fault });
    if (before.max_uses !== null && before.uses + uses > before.max_uses)
      throw new Failure('UNAUTHORIZED', { because: 'used_up' });
    const row = stamps.credential.stamp({
      ...before,
      uses: before.uses + uses,
      revision: before.revision + 1,
    });
    const { id, kind, name, vaultId } = reader;
    const { revision } = row;
    await guard.used({ ...reader, origin }, 'access-key.used', {
      subjects: [{ type: kind, id, name, vaultId, revision, details: { uses: row.uses } }],
      statements: [store.credentials.update(row)],
      touches: [id],
    });
  }

  return {
    /** What counts as several requests is refused as a whole. */
    async countRequest(id: string, limit: number, requests = 1): Promise<void> {
      const { start, secondsLeft } = rateWindowAt(now());
      const taken = await store.limits.take(id, start, requests);
      if (taken > limit) throw new Failure('RATE_LIMITED', { retryAfter: secondsLeft });
    },

    /** Refuses a request over the limit without counting it. */
    async refuseOver(id: string, limit: number): Promise<void> {
      const { start, secondsLeft } = rateWindowAt(now());
      if ((await store.limits.taken(id, start)) >= limit)
        throw new Failure('RATE_LIMITED', { retryAfter: secondsLeft });
    },

    /** A used-up key is an invalid key. Each use is a revision of its record, so uses can't be undone. */
    countUse: (reader: Reader, origin: Origin, uses = 1): Promise<void> =>
      lock.take(reader.id, () => retryingStale(() => take(reader, origin, uses))),
  };
}
