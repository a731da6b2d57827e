/** A value that is looked for in texts, in all of its forms: where it is, and whether that is all of it or a part. */
import {
  type Folding,
  type Form,
  foldInto,
  foldingFor,
  formsOf,
  secretPartOf,
  window,
} from './value-forms.ts';
import { WindowSet } from './window-set.ts';

/** Resolves once the others had their turn. */
export type Turn = () => Promise<void>;

export interface Run {
  /** Of the text as it came, in bytes. */
  readonly from: number;
  readonly to: number;
  /** Nothing but whole forms, one behind the other. */
  readonly isWhole: boolean;
  readonly isRagged: boolean;
}

/** In letters and digits: how much is looked through before others get their turn, a few milliseconds at most. */
const slice = 8 * 1024;
/** Of runs that are judged, or redacted, before others get their turn. */
export const mostRuns = 1_000;
/** Of characters beside an encoded value that may contain bits of it. */
const mostShared = 3;

type Span = [from: number, to: number];

export class KnownValue {
  readonly #folding: Folding;
  readonly #forms = new Map<string, Form>();
  /** Whatever contains a window contains the beginning of it: most texts are looked through once, and are clean. */
  readonly #beginnings: WindowSet;
  readonly #windows: readonly WindowSet[];
  readonly #shortest: number;
  /** All forms by how they begin, the longest first. */
  readonly #startingWith = new Map<string, Buffer[]>();
  /** What may stand right before it and behind it, and belongs to it. */
  readonly #before: readonly Buffer[];
  readonly #behind: readonly Buffer[];

  constructor(values: readonly string[]) {
    const parts = values.map(secretPartOf);
    const secrets = parts.map(({ text }) => text);
    this.#folding = foldingFor(secrets);
    for (const form of secrets.flatMap(text => formsOf(text, this.#folding))) {
      const key = form.text.toString('latin1');
      if (form.size < (this.#forms.get(key)?.size ?? Infinity)) this.#forms.set(key, form);
    }
    const bySize = Map.groupBy(this.#forms.values(), ({ size }) => size);
    this.#windows = [...bySize].map(
      ([size, forms]) =>
        new WindowSet(
          size,
          forms.map(({ text }) => text),
        ),
    );
    this.#shortest = Math.min(window, ...bySize.keys());
    for (const { text } of [...this.#forms.values()].sort(
      (one, other) => other.text.length - one.text.length,
    )) {
      const start = text.toString('latin1', 0, this.#shortest);
      this.#startingWith.set(start, [...(this.#startingWith.get(start) ?? []), text]);
    }
    this.#beginnings = new WindowSet(
      this.#shortest,
      [...this.#forms.values()].map(({ text }) => text),
    );
    this.#before = parts.map(({ known, text }) => Buffer.from(known + /^[^a-z0-9]*/i.exec(text)![0]));
    this.#behind = secrets.map(text => Buffer.from(/[^a-z0-9]*$/i.exec(text)![0]));
  }

  get size(): number {
    const texts = [...this.#forms.keys()].reduce((sum, { length }) => sum + length, 0);
    return [this.#beginnings, ...this.#windows].reduce((sum, { bytes }) => sum + bytes, texts);
  }

  async runsIn(bytes: Buffer, turn: Turn): Promise<Run[]> {
    const kept = Buffer.allocUnsafe(bytes.length);
    const places = new Uint32Array(bytes.length);
    const text = kept.subarray(0, foldInto(kept, bytes, this.#folding, places));
    const spans: Span[] = [];
    for (let from = 0; from < text.length; from += slice) {
      if (from > 0) await turn();
      this.#spansIn(text, from, Math.min(from + slice, text.length), spans);
    }
    const runs: Run[] = [];
    for (const [number, [from, to]] of spans.entries()) {
      if (number % mostRuns === mostRuns - 1) await turn();
      const judged = await this.#judged(text.toString('latin1', from, to), turn);
      runs.push({ from: places[from]!, to: places[to - 1]! + 1, ...judged });
    }
    return runs;
  }

  /** Adds those that begin between two places; windows that overlap are one. */
  #spansIn(text: Buffer, from: number, to: number, spans: Span[]): void {
    const all = this.#beginnings.startsIn(text, from, to);
    if (all.length === 0) return;
    const longestAt = new Uint32Array(to - from);
    const begun = this.#besideWholes(text, all, from, longestAt, spans);
    for (const [first, last] of stretchesOf(begun))
      for (const windows of this.#windows) windows.markIn(text, first, last + 1, longestAt, from);
    for (const at of all) {
      const length = longestAt[at - from]!;
      if (length === 0) continue;
      const last = spans.at(-1);
      if (last !== undefined && at <= last[1]) last[1] = Math.max(last[1], at + length);
      else spans.push([at, at + length]);
    }
  }

  /** Most values that come back are whole: those are noted, and what begins within one needs no closer look. */
  #besideWholes(
    text: Buffer,
    begun: readonly number[],
    from: number,
    longestAt: Uint32Array,
    spans: Span[],
  ): number[] {
    let next = spans.at(-1)?.[1] ?? 0;
    const left: number[] = [];
    for (const at of begun) {
      if (at < next) continue;
      const forms = this.#startingWith.get(text.toString('latin1', at, at + this.#shortest)) ?? [];
      const whole = forms.find(form => text.subarray(at, at + form.length).equals(form));
      if (whole === undefined) {
        left.push(at);
        continue;
      }
      longestAt[at - from] = whole.length;
      next = at + whole.length;
    }
    return left;
  }

  /** Forms may overlap, as those of UTF-16 do; whatever none of them covers is a part. */
  async #judged(text: string, turn: Turn): Promise<Pick<Run, 'isWhole' | 'isRagged'>> {
    const form = this.#forms.get(text);
    if (form !== undefined) return { isWhole: !form.isPiece, isRagged: form.isRagged };
    const found: Span[] = [];
    let isRagged = false;
    for (const [whole, one] of this.#forms) {
      if (one.isPiece || whole.length > text.length) continue;
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

  /** With what belongs to the value beside its letters and digits. */
  edgesOf(bytes: Buffer, { from, to, isRagged }: Run): Span {
    if (isRagged) return [sharedBefore(bytes, from), sharedBehind(bytes, to)];
    const before = this.#before.filter(text => bytes.subarray(from - text.length, from).equals(text));
    const behind = this.#behind.filter(text => bytes.subarray(to, to + text.length).equals(text));
    const longestOf = (texts: readonly Buffer[]) => Math.max(0, ...texts.map(({ length }) => length));
    return [from - longestOf(before), to + longestOf(behind)];
  }
}

/** Places that are no further apart than a step, as stretches: the sets roll along each of them once. */
function stretchesOf(places: readonly number[]): Span[] {
  const stretches: Span[] = [];
  for (const at of places) {
    const last = stretches.at(-1);
    if (last !== undefined && at - last[1] <= window) last[1] = at;
    else stretches.push([at, at]);
  }
  return stretches;
}

function isEncoded(byte: number | undefined): boolean {
  return byte !== undefined && /[a-z0-9+/_=-]/i.test(String.fromCharCode(byte));
}

function sharedBefore(bytes: Buffer, from: number): number {
  let at = from;
  while (from - at < mostShared && isEncoded(bytes[at - 1])) at--;
  return at;
}

function sharedBehind(bytes: Buffer, to: number): number {
  let at = to;
  while (at - to < mostShared && isEncoded(bytes[at])) at++;
  return at;
}
