/**
 * Identifiers are UUIDs of version 7, so they sort by creation time. Those of one generator also sort within a
 * millisecond, and never go back when the clock does.
 */
import { randomFillSync } from 'node:crypto';

export type NewId = () => string;

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const counterEnd = 0x1000;
const poolSize = 4096;

export function isId(text: string): boolean {
  return pattern.test(text);
}

export function idGenerator(now: () => number, fill: (bytes: Buffer) => Buffer = randomFillSync): NewId {
  let pool = '';
  let used = 0;
  let last = -1;
  let stamp = '';
  let counter = 0;
  const random = () => {
    if (used === pool.length) {
      pool = fill(Buffer.allocUnsafe(poolSize)).toString('hex');
      used = 0;
    }
    used += 16;
    return pool.slice(used - 16, used);
  };
  return () => {
    const bits = random();
    const time = now();
    // The counter takes the 12 bits after the version; when a millisecond runs out of them, borrow from the next.
    if (time > last) counter = Number.parseInt(bits.slice(0, 2), 16);
    else if (++counter === counterEnd) counter = 0;
    if (time > last || counter === 0) {
      last = Math.max(time, last + 1);
      stamp = stampOf(last);
    }
    return format(stamp, counter, bits);
  };
}

/** The smallest id for a time: ids created at or after that time sort at or after this one. */
export function firstIdAt(time: number): string {
  return format(stampOf(time), 0, '0'.repeat(16));
}

/** When an id was created; NaN if it isn't an id. */
export function timeOf(id: string): number {
  return isId(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : Number.NaN;
}

/** The 48 bits of the time, and the version. */
function stampOf(time: number): string {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7`;
}

/** Three hexadecimal digits for each number below 4,096; computed once, because every request needs some. */
export const threeDigits: readonly string[] = Array.from({ length: counterEnd }, (_, number) =>
  number.toString(16).padStart(3, '0'),
);
const variants: Readonly<Record<string, string>> = Object.fromEntries(
  [...'0123456789abcdef'].map((digit, index) => [digit, '89ab'[index % 4]!]),
);

function format(stamp: string, counter: number, bits: string): string {
  return `${stamp}${threeDigits[counter]}-${variants[bits[0]!]}${bits.slice(1, 4)}-${bits.slice(4)}`;
}
