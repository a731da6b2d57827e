/**
 * Windows of a text, all of one length, to be searched for in another text. They are stored as two rolling hashes of 32
 * bits each, so that a search takes the same time for any text, and the text itself is not kept. The hash functions are
 * chosen at random for each set: otherwise an attacker could search for texts with the hash of a window, and learn from
 * the timing whether there is such a window.
 */
import { randomInt } from 'node:crypto';

const bitsForEach = 32;

export class WindowSet {
  readonly #length: number;
  readonly #first: number;
  readonly #second = randomFactor();
  /** Pairs of hashes; two zeros are an empty slot. At most half of the slots are used. */
  readonly #table: Int32Array;
  readonly #shift: number;
  /** A bit filter over the first hashes, as far as there is space. Most windows of other texts are ruled out here. */
  readonly #bits: Uint8Array;
  readonly #bitShift: number;

  constructor(length: number, factor: number, texts: readonly Buffer[]) {
    this.#length = length;
    this.#first = factor;
    const most = texts.reduce((sum, text) => sum + Math.max(text.length - length + 1, 0), 0);
    const bits = Math.max(4, 33 - Math.clz32(most));
    this.#shift = 32 - bits;
    this.#table = new Int32Array(2 << bits);
    this.#bits = new Uint8Array((bitsForEach << bits) / 8);
    this.#bitShift = Math.clz32(this.#bits.length * 8 - 1);
    for (const text of texts) this.#add(text);
  }

  get bytes(): number {
    return this.#table.byteLength + this.#bits.byteLength;
  }

  #add(text: Buffer): void {
    for (let at = 0; at + this.#length <= text.length; at++) {
      const [one, other] = [this.#hashAt(text, at, this.#first), this.#hashAt(text, at, this.#second)];
      const bit = Math.imul(one, 0x9e3779b1) >>> this.#bitShift;
      this.#bits[bit >> 3]! |= 1 << (bit & 7);
      const place = placeOf(this.#table, this.#shift, one, other);
      this.#table[place] = one;
      this.#table[place + 1] = other;
    }
  }

  #hashAt(text: Buffer, from: number, factor: number): number {
    let sum = 0;
    for (let at = from; at < from + this.#length; at++) sum = (Math.imul(sum, factor) + text[at]!) | 0;
    return sum;
  }

  /** Records the window length at each position between two where a window begins, unless a longer one does. */
  markIn(
    text: Buffer,
    sums: Int32Array,
    from: number,
    to: number,
    longestAt: Uint32Array,
    origin: number,
  ): void {
    const length = this.#length;
    const bits = this.#bits;
    const bitShift = this.#bitShift;
    const gone = power(this.#first, length);
    const last = Math.min(to, text.length - length + 1) - origin;
    for (let at = from - origin; at < last; at++) {
      const one = (sums[at + length]! - Math.imul(sums[at]!, gone)) | 0;
      const bit = Math.imul(one, 0x9e3779b1) >>> bitShift;
      if ((bits[bit >> 3]! & (1 << (bit & 7))) === 0) continue;
      if (longestAt[at]! < length && this.#has(text, origin + at, one)) longestAt[at] = length;
    }
  }

  #has(text: Buffer, at: number, one: number): boolean {
    const other = this.#hashAt(text, at, this.#second);
    const place = placeOf(this.#table, this.#shift, one, other);
    return !isEmpty(this.#table, place);
  }
}

/** Odd, so that every byte of a window counts. */
export function randomFactor(): number {
  return (randomInt(2 ** 31) * 2 + 1) | 0;
}

function isEmpty(table: Int32Array, place: number): boolean {
  return (table[place]! | table[place + 1]!) === 0;
}

/** The slot of this pair, or the free one where it belongs. */
function placeOf(table: Int32Array, shift: number, one: number, other: number): number {
  let place = (Math.imul(one ^ (other >>> 15), 0x85ebca6b) >>> shift) * 2;
  for (;;) {
    if (isEmpty(table, place) || (table[place] === one && table[place + 1] === other)) return place;
    place = (place + 2) & (table.length - 1);
  }
}

function power(base: number, exponent: number): number {
  let result = 1;
  for (let step = 0; step < exponent; step++) result = Math.imul(result, base);
  return result;
}
