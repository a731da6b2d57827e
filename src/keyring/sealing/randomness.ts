/**
 * Random bytes for keys and nonces. Asking the system for a few at a time costs more than sealing a short value, so
 * they are drawn in batches. Bytes that were handed out are wiped from the batch, and never reused.
 */
import { randomFillSync } from 'node:crypto';
import type { Random } from './envelope.ts';

const stretch = 4_096;

export function pooledRandom(fill: (bytes: Buffer) => Buffer = randomFillSync): Random {
  const pool = Buffer.allocUnsafeSlow(stretch);
  let used = stretch;
  return size => {
    if (size > stretch) return fill(Buffer.allocUnsafeSlow(size));
    if (used + size > stretch) {
      fill(pool);
      used = 0;
    }
    const drawn = Uint8Array.prototype.slice.call(pool, used, used + size);
    pool.fill(0, used, used + size);
    used += size;
    return drawn;
  };
}
