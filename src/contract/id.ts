/**
 * Identifiers: UUID version 7, so that ids sort by the time they were made. Within one generator they also
 * sort within a millisecond, and never go back when the clock does.
 */
import { randomFillSync } from 'node:crypto';

export type NewId = () => string;

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const counterEnd = 0x1000;

export function isId(text: string): boolean {
  return pattern.test(text);
}

export function idGenerator(now: () => number, fill: (bytes: Buffer) => Buffer = randomFillSync): NewId {
  const pool = Buffer.alloc(4096);
  let used = pool.length;
  let last = 0;
  let counter = 0;
  return () => {
    if (used === pool.length) {
      fill(pool);
      used = 0;
    }
    const random = pool.toString('hex', used, used + 8);
    used += 8;
    const time = now();
    // The counter takes the 12 bits after the version; when a millisecond runs out of them, borrow from the next.
    if (time > last) {
      last = time;
      counter = Number.parseInt(random.slice(0, 2), 16);
    } else if (++counter === counterEnd) {
      last += 1;
      counter = 0;
    }
    return format(last, counter, random);
  };
}

/** The smallest id of a moment: ids made at or after it sort at or after this one. */
export function firstIdAt(time: number): string {
  return format(time, 0, '0000000000000000');
}

function format(time: number, counter: number, random: string): string {
  const stamp = time.toString(16).padStart(12, '0');
  const variant = '89ab'[Number.parseInt(random[2]!, 16) & 3];
  return `${stamp.slice(0, 8)}-${stamp.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
}
