/**
 * Windows of a text, all of one length, that are looked for in another. They are known by two rolling hashes, of 32 bits
 * each, so that finding them takes as long whatever the other text is, and none of the text is kept.
 */

const first = 0x01000193;
const second = 0x9e3779b1;

const bitsForEach = 16;

export class WindowSet {
  readonly #length: number;
  /** Pairs of hashes; two zeros are an empty place. At most half of the places are taken. */
  readonly #table: Int32Array;
  readonly #shift: number;
  /** A bit for each first hash, as far as there is room: most windows of other texts go no further. */
  readonly #bits: Uint8Array;

  constructor(length: number, texts: readonly Buffer[]) {
    this.#length = length;
    const most = texts.reduce((sum, text) => sum + Math.max(text.length - length + 1, 0), 0);
    const bits = Math.max(4, 33 - Math.clz32(most));
    this.#shift = 32 - bits;
    this.#table = new Int32Array(2 << bits);
    this.#bits = new Uint8Array((bitsForEach << bits) / 8);
    for (const text of texts) this.#roll(text, 0, text.length, null);
  }

  get bytes(): number {
    return this.#table.byteLength + this.#bits.byteLength;
  }

  /** Notes the length at each place between two where one of the windows begins, unless a longer one does. */
  markIn(text: Buffer, from: number, to: number, longestAt: Uint32Array, origin: number): void {
    const length = this.#length;
    this.#roll(text, from, to, at => {
      if (longestAt[at - origin]! < length) longestAt[at - origin] = length;
    });
  }

  /** The places between two where one of the windows begins. */
  startsIn(text: Buffer, from: number, to: number): number[] {
    const found: number[] = [];
    this.#roll(text, from, to, at => found.push(at));
    return found;
  }

  /** Says where those windows begin that are known; or, where nobody asks, adds all of them. */
  #roll(text: Buffer, from: number, to: number, found: ((at: number) => void) | null): void {
    const length = this.#length;
    const table = this.#table;
    const shift = this.#shift;
    const bits = this.#bits;
    const bitShift = Math.clz32(bits.length * 8 - 1);
    const firstGone = power(first, length);
    const secondGone = power(second, length);
    const end = Math.min(to + length - 1, text.length);
    let one = 0;
    let other = 0;
    for (let at = from; at < end; at++) {
      const byte = text[at]!;
      one = (Math.imul(one, first) + byte) | 0;
      other = (Math.imul(other, second) + byte) | 0;
      const start = at - length + 1;
      if (start < from) continue;
      if (start > from) {
        const gone = text[start - 1]!;
        one = (one - Math.imul(gone, firstGone)) | 0;
        other = (other - Math.imul(gone, secondGone)) | 0;
      }
      const bit = Math.imul(one, 0x9e3779b1) >>> bitShift;
      if (found !== null && (bits[bit >> 3]! & (1 << (bit & 7))) === 0) continue;
      const place = placeOf(table, shift, one, other);
      if (found === null) {
        bits[bit >> 3]! |= 1 << (bit & 7);
        table[place] = one;
        table[place + 1] = other;
      } else if (table[place] === one && table[place + 1] === other) found(start);
    }
  }
}

/** Where this pair stands, or would. */
function placeOf(table: Int32Array, shift: number, one: number, other: number): number {
  let place = (Math.imul(one ^ (other >>> 15), 0x85ebca6b) >>> shift) * 2;
  for (;;) {
    const held = table[place]!;
    const beside = table[place + 1]!;
    if ((held === one && beside === other) || (held === 0 && beside === 0)) return place;
    place = (place + 2) & (table.length - 1);
  }
}

function power(base: number, exponent: number): number {
  let result = 1;
  for (let step = 0; step < exponent; step++) result = Math.imul(result, base);
  return result;
}
