/** Randomness that a test chooses: the same bytes in the same order, from a seed. */
import { createHash } from 'node:crypto';

export function fixedRandom(seed: string): (size: number) => Buffer {
  let pool = Buffer.alloc(0);
  let block = 0;
  return size => {
    while (pool.length < size) {
      pool = Buffer.concat([pool, createHash('sha256').update(`${seed} ${block++}`).digest()]);
    }
    const bytes = Buffer.from(pool.subarray(0, size));
    pool = pool.subarray(size);
    return bytes;
  };
}
