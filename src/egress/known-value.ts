/** A value to search for in texts, in all of its forms. Finds where it is, and whether it is complete or a part. */
import { type Folding, type Form, foldInto, foldingFor, formsOf, secretPartOf } from './value-forms.ts';
import { randomFactor, WindowSet } from './window-set.ts';

/** Resolves once other callers had their turn. */
export type Turn = () => Promise<void>;

export interface Run {
  /** Positions in the original text, in bytes. */
  readonly from: number;
  readonly to: number;
  /** Consists only of complete forms, one after the other. */
  readonly isWhole: boolean;
  readonly isRagged: boolean;
}

/** In letters and digits: how much is scanned before other callers get their turn, a few milliseconds at most. */
const slice = 8 * 1024;
/** How many runs are checked or redacted before other callers get their turn. */
export const mostRuns = 1_000;
/** How many characters next to an encoded value may contain bits of it. */
const mostShared = 3;

type Span = [from: number, to: number];

interface Windows {
  readonly set: WindowSet;
  /** They consist only of hexadecimal digits, `x` and `u`. Most texts have no such sequence that is long enough. */
  readonly isCoded: boolean;
}

export class KnownValue {
  readonly #folding: Folding;
  readonly #forms = new Map<string, Form>();
  readonly #factor = randomFactor();
  readonly #windows: readonly Windows[];
  readonly #longest: number;
  /** The shortest of the windows that only such sequences can contain. */
  readonly #shortestCoded: number;
  /** Text that may directly precede or follow the value, and belongs to it. */
  readonly #before: readonly Buffer[];
  readonly #behind: readonly Buffer[];

  constructor(values: readonly string[], least?: number) {
    const parts = values.map(secretPartOf);
    const secrets = parts.map(({ text }) => text);
    this.#folding = foldingFor(secrets);
    for (const form of secrets.flatMap(text => formsOf(text, this.#folding, least))) {
      const key = form.text.toString('latin1');
      if (form.size < (this.#forms.get(key)?.size ?? Infinity)) this.#forms.set(key, form);
    }
    const alike = Map.groupBy(this.#forms.values(), ({ text, size }) => `${size} ${text.every(isCode)}`);
    this.#windows = [...alike.values()].map(forms => {
      const [{ size, text }] = forms as [Form];
      const texts = forms.map(form => form.text);
      return { set: new WindowSet(size, this.#factor, texts), isCoded: text.every(isCode) };
    });
    this.#longest = Math.max(0, ...[...this.#forms.values()].map(({ size }) => size));
    const coded = [...this.#forms.values()].filter(({ text }) => text.every(isCode));
    this.#shortestCoded = Math.min(...coded.map(({ size }) => size));
    this.#before = parts.map(({ known, text }) => Buffer.from(known + /^[^a-z0-9]*/i.exec(text)![0]));
    this.#behind = secrets.map(text => Buffer.from(/[^a-z0-9]*$/i.exec(text)![0]));
  }

  get size(): number {
    const texts = [...this.#forms.keys()].reduce((sum, { length }) => sum + length, 0);
    return this.#windows.reduce((sum, { set }) => sum + set.bytes, texts);
  }

  async runsIn(bytes: Buffer, turn: Turn): Promise<Run[]> {
    const kept = Buffer.allocUnsafe(bytes.length);
    const places = new Uint32Array(bytes.length);
    const text = kept.subarray(0, foldInto(kept, bytes, this.#folding, places));
    const spans: Span[] = [];
    for (let from = 0; from < text.length; from += slice) {
      if (from > 0) await turn();
      this.#spansIn(text.subarray(0, from + slice + this.#longest), from, spans);
    }
    const runs: Run[] = [];
    for (const [number, [from, to]] of spans.entries()) {
      if (number % mostRuns === mostRuns - 1) await turn();
      const judged = await this.#judged(text.toString('latin1', from, to), turn);
      runs.push({ from: places[from]!, to: places[to - 1]! + 1, ...judged });
    }
    return runs;
  }

  /**
   * Adds the spans that begin within one slice of the text, which extends as far as they may; overlapping windows form
   * one. Every window is searched everywhere: if the beginning of a window led to a closer look, the timing would reveal
   * to an agent that a beginning was right, which takes very few guesses.
   */
  #spansIn(text: Buffer, from: number, spans: Span[]): void {
    const to = from + slice;
    const coded = codedIn(text, from, this.#shortestCoded);
    const sums = sumsOf(text, from, this.#factor);
    const longestAt = new Uint32Array(text.length - from);
    for (const { set, isCoded } of this.#windows) {
      if (!isCoded) set.markIn(text, sums, from, to, longestAt, from);
      else
        for (const [first, end] of coded) set.markIn(text.subarray(0, end), sums, first, to, longestAt, from);
    }
    for (let at = from; at < text.length; at++) {
      const length = longestAt[at - from]!;
      if (length === 0) continue;
      const last = spans.at(-1);
      if (last !== undefined && at <= last[1]) last[1] = Math.max(last[1], at + length);
      else spans.push([at, at + length]);
    }
  }

  /** Forms may overlap, as in UTF-16. Anything that no form covers is a part. */
  async #judged(text: string, turn: Turn): Promise<Pick<Run, 'isWhole' | 'isRagged'>> {
    const form = this.#forms.get(text);
    if (form !== undefined) return { isWhole: !form.isPiece, isRagged: form.isRagged };
    const found: Span[] = [];
    let isRagged = false;
    for (const [whole, one] of this.#forms) {
      if (one.isPiece) continue;
      if (text.length > slice) await turn();
      for (let at = text.indexOf(whole); at !== -1; at = text.indexOf(whole, at + whole.length)) {
        found.push([at, at + whole.length]);
        isRagged ||= one.isRagged;
      }
    }
    let covered = 0;
    for (const [from, to] of found.sort(([one], [other]) => one - other))
      if (from <= covered) covered = Math.max(covered, to);
    return { isWhole: covered === text.length, isRagged };
  }

  /** Extends a run by text next to it that belongs to the value. */
  edgesOf(bytes: Buffer, { from, to, isRagged }: Run): Span {
    if (isRagged) return [sharedBefore(bytes, from), sharedBehind(bytes, to)];
    const before = this.#before.filter(text => bytes.subarray(from - text.length, from).equals(text));
    const behind = this.#behind.filter(text => bytes.subarray(to, to + text.length).equals(text));
    const longestOf = (texts: readonly Buffer[]) => Math.max(0, ...texts.map(({ length }) => length));
    return [from - longestOf(before), to + longestOf(behind)];
  }
}

function isCode(byte: number): boolean {
  return codes[byte] === 1;
}

const codes = new Uint8Array(256);
for (const byte of Buffer.from('0123456789abcdefxu')) codes[byte] = 1;

/** Sequences of hexadecimal digits from a position on that are long enough. */
function codedIn(text: Buffer, from: number, shortest: number): Span[] {
  const found: Span[] = [];
  for (let at = from, end = from; at < text.length; at = ++end) {
    while (isCode(text[end]!)) end++;
    if (end - at >= shortest) found.push([at, end]);
  }
  return found;
}

function sumsOf(text: Buffer, from: number, factor: number): Int32Array {
  const sums = new Int32Array(text.length - from + 1);
  let sum = 0;
  for (let byte = from; byte < text.length; byte++) {
    sum = (Math.imul(sum, factor) + text[byte]!) | 0;
    sums[byte - from + 1] = sum;
  }
  return sums;
}

function isEncoded(byte: number): boolean {
  return /[a-z0-9+/_=-]/i.test(String.fromCharCode(byte));
}

function sharedBefore(bytes: Buffer, from: number): number {
  let at = from;
  while (from - at < mostShared && isEncoded(bytes[at - 1]!)) at--;
  return at;
}

function sharedBehind(bytes: Buffer, to: number): number {
  let at = to;
  while (at - to < mostShared && isEncoded(bytes[at]!)) at++;
  return at;
}
