/**
 * Limits how many uses of secrets and keys per access key are in progress at a time, in this process. More are
 * refused, not queued.
 */
import { Failure } from '../../contract/errors.ts';

const most = 32;

export type Concurrency = ReturnType<typeof concurrencyOf>;

export function concurrencyOf() {
  const underWay = new Map<string, number>();
  return {
    within: async <T>(id: string, run: () => Promise<T>): Promise<T> => {
      const before = underWay.get(id) ?? 0;
      if (before >= most) {
        const message = `At most ${most} calls with an access key can run at a time`;
        throw new Failure('RATE_LIMITED', { message, retryAfter: 1, because: 'too_many_calls' });
      }
      underWay.set(id, before + 1);
      try {
        return await run();
      } finally {
        const left = underWay.get(id)! - 1;
        if (left === 0) underWay.delete(id);
        else underWay.set(id, left);
      }
    },
  };
}
