/**
 * The newest revision of each subject, in a few bytes: ids and numbers are in typed arrays, so that millions of them
 * fit in a service's memory. Only UUIDs can be stored; rows with revisions have no other ids.
 */
import { isId } from '../contract/id.ts';

const wordsOfId = 4;
const firstCapacity = 1_024;
const none = -1;

export class SubjectTable {
  /** Per subject, in the order of addition. */
  #ids = new Uint32Array(firstCapacity * wordsOfId);
  #revisions = new Uint32Array(firstCapacity);
  /** Places in these arrays by id, plus one; 0 is free. At most half of the slots are used. */
  #slots = new Uint32Array(firstCapacity * 2);
  #size = 0;
  readonly #word = new Uint32Array(wordsOfId);

  get size(): number {
    return this.#size;
  }

  /** The newest revision; 0 if the subject is unknown. */
  revisionOf(id: string): number {
    const at = this.find(id);
    return at === none ? 0 : this.#revisions[at]!;
  }

  /** Sets a revision if it is higher. Returns the subject's place, or -1 if the id can't be stored. */
  raise(id: string, revision: number): number {
    const at = this.add(id);
    if (revision > this.#revisions[at]!) this.#revisions[at] = revision; // With -1 this is undefined, and nothing is set.
    return at;
  }

  find(id: string): number {
    if (!this.#read(id)) return none;
    return this.#slots[this.#slotOf(this.#word)]! - 1;
  }

  add(id: string): number {
    if (!this.#read(id)) return none;
    let slot = this.#slotOf(this.#word);
    if (this.#slots[slot] !== 0) return this.#slots[slot]! - 1;
    if (this.#size === this.#revisions.length) {
      this.#grow(this.#size * 2);
      slot = this.#slotOf(this.#word);
    }
    this.#ids.set(this.#word, this.#size * wordsOfId);
    this.#slots[slot] = ++this.#size;
    return this.#size - 1;
  }

  idAt(at: number): string {
    const words = this.#ids.subarray(at * wordsOfId, (at + 1) * wordsOfId);
    const hex = [...words].map(word => word.toString(16).padStart(8, '0')).join('');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  *ids(): Iterable<string> {
    for (let at = 0; at < this.#size; at++) yield this.idAt(at);
  }

  /** The content as bytes, in the machine's byte order. */
  packed(): Buffer {
    const ids = this.#ids.subarray(0, this.#size * wordsOfId);
    const revisions = this.#revisions.subarray(0, this.#size);
    return Buffer.concat([bytesOf(ids), bytesOf(revisions)]);
  }

  static unpacked(bytes: Uint8Array): SubjectTable {
    const words = new Uint32Array(new Uint8Array(bytes).buffer); // A copy, because a view may be unaligned.
    const size = words.length / (wordsOfId + 1);
    const table = new SubjectTable();
    table.#ids = words.slice(0, size * wordsOfId);
    table.#revisions = words.slice(size * wordsOfId);
    table.#size = size;
    table.#grow(Math.max(firstCapacity, size + (size >> 2)));
    return table;
  }

  #grow(capacity: number): void {
    const [ids, revisions] = [this.#ids, this.#revisions];
    this.#ids = new Uint32Array(capacity * wordsOfId);
    this.#ids.set(ids.subarray(0, this.#size * wordsOfId));
    this.#revisions = new Uint32Array(capacity);
    this.#revisions.set(revisions.subarray(0, this.#size));
    this.#slots = new Uint32Array(2 ** Math.ceil(Math.log2(capacity * 2)));
    for (let at = 0; at < this.#size; at++) {
      const word = this.#ids.subarray(at * wordsOfId, (at + 1) * wordsOfId);
      this.#slots[this.#slotOf(word)] = at + 1;
    }
  }

  /** The slot of the id, or the free one where it belongs. */
  #slotOf(word: Uint32Array): number {
    const mask = this.#slots.length - 1;
    // The last words of our ids are random.
    let slot =
      (Math.imul(word[3]!, 0x9e3779b1) ^ word[2]! ^ Math.imul(word[1]!, 0x85ebca6b) ^ word[0]!) & mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const at = (this.#slots[slot]! - 1) * wordsOfId;
      const ids = this.#ids;
      const isSame =
        ids[at + 3] === word[3] && ids[at + 2] === word[2] && ids[at + 1] === word[1] && ids[at] === word[0];
      if (isSame) break;
    }
    return slot;
  }

  #read(id: string): boolean {
    if (!isId(id)) return false;
    this.#word[0] = Number.parseInt(id.slice(0, 8), 16);
    this.#word[1] = Number.parseInt(id.slice(9, 13) + id.slice(14, 18), 16);
    this.#word[2] = Number.parseInt(id.slice(19, 23) + id.slice(24, 28), 16);
    this.#word[3] = Number.parseInt(id.slice(28), 16);
    return true;
  }
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}
