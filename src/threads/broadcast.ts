/**
 * A broadcast between threads through shared memory: what one thread has published, every other receives with its next
 * look, without waiting for a message. Each thread publishes into a ring of its own, and looks into the rings of the
 * others. A look costs one load if nothing was published. A thread that looks too rarely, or finds a ring whose thread
 * died while it was publishing, learns that it missed something; it never receives anything torn.
 *
 * All words are read and written atomically, so what precedes a word's publication is visible with it.
 */
export interface BroadcastPlace {
  readonly memory: SharedArrayBuffer;
  /** The number of the ring into which this thread publishes. */
  readonly own: number;
}

/** Something was published, and can't be read any more. */
export const missed = Symbol('missed');

/** In words; a power of two, so that positions may wrap around. */
const ringWords = 8_192;
/** Words that different threads write are this far apart, so that they don't share a cache line. */
const apart = 32;
const [written, reserved, generation] = [0, 1, 2];
/** In place of a length: the text was too long for the ring. */
const tooLong = -1;
const nothing: readonly (string | typeof missed)[] = [];

/** The memory of a broadcast with this many publishers. */
export function broadcastMemory(publishers: number): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * (apart + publishers * (apart + ringWords)));
}

export class Broadcast {
  readonly #words: Int32Array;
  readonly #own: number;
  /** For each ring, how far it was read, and in which generation. */
  readonly #tails: number[] = [];
  readonly #generations: number[] = [];
  #seen: number;

  constructor({ memory, own }: BroadcastPlace) {
    this.#words = new Int32Array(memory);
    this.#own = own;
    this.#takeOver(ringAt(own));
    this.#seen = Atomics.load(this.#words, 0);
    for (let ring = 0; ringAt(ring) < this.#words.length; ring++) {
      this.#generations.push(Atomics.load(this.#words, ringAt(ring) + generation));
      this.#tails.push(Atomics.load(this.#words, ringAt(ring) + written));
    }
  }

  /** Visible to every other thread when this returns. */
  publish(text: string | typeof missed): void {
    const words = this.#words;
    const ring = ringAt(this.#own);
    const bytes = text === missed ? null : Buffer.from(text, 'utf8');
    const isShort = bytes !== null && bytes.length <= 2 * ringWords;
    const length = isShort ? 1 + Math.ceil(bytes.length / 4) : 1;
    const start = Atomics.load(words, ring + written);
    // First, so that nobody trusts a word that is about to be overwritten.
    Atomics.store(words, ring + reserved, start + length);
    Atomics.store(words, wordAt(ring, start), isShort ? bytes.length : tooLong);
    for (let word = 1; word < length; word++)
      Atomics.store(words, wordAt(ring, start + word), wordIn(bytes!, 4 * (word - 1)));
    Atomics.store(words, ring + written, start + length);
    Atomics.add(words, 0, 1);
  }

  /** What other threads have published since the last look. */
  receive(): readonly (string | typeof missed)[] {
    const version = Atomics.load(this.#words, 0);
    if (version === this.#seen) return nothing;
    this.#seen = version;
    return this.#tails.flatMap((_, ring) => (ring === this.#own ? nothing : this.#read(ring)));
  }

  #read(number: number): readonly (string | typeof missed)[] {
    const words = this.#words;
    const ring = ringAt(number);
    const tail = this.#tails[number]!;
    const before = this.#generations[number]!;
    const end = Atomics.load(words, ring + written);
    const length = (end - tail) >>> 0;
    const found =
      length > ringWords
        ? null
        : Int32Array.from({ length }, (_, word) => Atomics.load(words, wordAt(ring, tail + word)));
    const overtaken = (Atomics.load(words, ring + reserved) - tail) >>> 0 > ringWords;
    const now = Atomics.load(words, ring + generation);
    this.#generations[number] = now;
    this.#tails[number] = end;
    return found === null || overtaken || now !== before ? [missed] : textsIn(found);
  }

  /** An earlier thread may have died while it was publishing: its unfinished text is skipped. */
  #takeOver(ring: number): void {
    const words = this.#words;
    const end = Atomics.load(words, ring + reserved);
    if (end === Atomics.load(words, ring + written)) return;
    Atomics.add(words, ring + generation, 1);
    Atomics.store(words, ring + written, end);
    Atomics.add(words, 0, 1);
  }
}

function ringAt(number: number): number {
  return apart + number * (apart + ringWords);
}

function wordAt(ring: number, position: number): number {
  return ring + apart + (position & (ringWords - 1));
}

/** Four bytes, or as many as there are. */
function wordIn(bytes: Buffer, at: number): number {
  if (at + 4 <= bytes.length) return bytes.readInt32LE(at);
  let word = 0;
  for (let byte = at; byte < bytes.length; byte++) word |= bytes[byte]! << (8 * (byte - at));
  return word;
}

function textsIn(found: Int32Array): (string | typeof missed)[] {
  const texts: (string | typeof missed)[] = [];
  const bytes = Buffer.from(found.buffer, 0, 4 * found.length);
  for (let at = 0; at < found.length; ) {
    const length = found[at]!;
    const text = 4 * (at + 1);
    texts.push(length === tooLong ? missed : bytes.toString('utf8', text, text + length));
    at += 1 + (length === tooLong ? 0 : Math.ceil(length / 4));
  }
  return texts;
}
