/**
 * Windows of a text, all of one length, that are looked for in another. They are known by two rolling hashes, of 32 bits
 * each, so that finding them takes as long whatever the other text is, and none of the text is kept.
 */

const first = 0x01000193;
const second = 0x9e3779b1;

export class WindowSet {
  readonly #length: number;
  /** Pairs of hashes; two zeros are an empty place. At most half of the places are taken. */
  readonly #table: Int32Array;
  readonly #shift: number;

  constructor(length: number, texts: readonly Buffer[]) {
    this.#length = length;
    const most = texts.reduce((sum, text) => sum + Math.max(text.length - length + 1, 0), 0);
    const bits = Math.max(4, 33 - Math.clz32(most));
    this.#shift = 32 - bits;
    this.#table = new Int32Array(2 << bits);
    for (const text of texts) this.#roll(text, 'add');
  }

  get bytes(): number {
    return this.#table.byteLength;
  }

  /** Notes the length at each place where one of the windows begins, unless a longer one does. */
  markIn(text: Buffer, longestAt: Uint16Array): void {
    this.#roll(text, longestAt);
  }

  /** Whether any of the windows is in it. */
  isIn(text: Buffer): boolean {
    return this.#roll(text, 'look');
  }

  /** Adds every window of the text; or looks whether one is known; or notes in the list which of them are. */
  #roll(text: Buffer, purpose: 'add' | 'look' | Uint16Array): boolean {
    const length = this.#length;
    const table = this.#table;
    const shift = this.#shift;
    const firstGone = power(first, length);
    const secondGone = power(second, length);
    let one = 0;
    let other = 0;
    for (let at = 0; at < text.length; at++) {
      const byte = text[at]!;
      one = (Math.imul(one, first) + byte) | 0;
      other = (Math.imul(other, second) + byte) | 0;
      if (at < length - 1) continue;
      if (at >= length) {
        const gone = text[at - length]!;
        one = (one - Math.imul(gone, firstGone)) | 0;
        other = (other - Math.imul(gone, secondGone)) | 0;
      }
      const place = placeOf(table, shift, one, other);
      if (purpose === 'add') {
        table[place] = one;
        table[place + 1] = other;
        continue;
      }
      if (table[place] !== one || table[place + 1] !== other) continue;
      if (purpose === 'look') return true;
      const from = at - length + 1;
      if (purpose[from]! < length) purpose[from] = length;
    }
    return false;
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
