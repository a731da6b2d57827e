/**
 * Replaces values in a stream of bytes, also across chunks; every other byte passes unchanged. Bytes that could be the
 * beginning of a value are held back until that is certain. Very short values are not masked, because they occur in
 * every text.
 */
import { Transform } from 'node:stream';

export interface Masked {
  readonly name: string;
  readonly value: string;
}

const shortest = 4;
/** The lines of a long value are also masked separately, because log lines have a prefix. */
const shortestLine = 12;
const armour = /^-----(BEGIN|END) [A-Z0-9 ]+-----$/;

export interface Mask extends Transform {
  /** Replaces these values too from now on. */
  also(secrets: readonly Masked[]): void;
}

export function maskFor(secrets: readonly Masked[]): Mask {
  let known = secrets;
  let masker = new Masker(known);
  const stream = new Transform({
    transform: (chunk: Buffer, _, done) =>
      done(null, Buffer.from(masker.push(chunk.toString('latin1')), 'latin1')),
    flush: done => done(null, Buffer.from(masker.end(), 'latin1')),
  });
  const also = (more: readonly Masked[]) => {
    known = [...known, ...more];
    masker = masker.with(known);
  };
  return Object.assign(stream, { also });
}

/** Works on bytes as Latin-1, in which each byte is one character. */
class Masker {
  readonly #shown: ReadonlyMap<string, string>;
  /** By their first bytes; if two match at the same place, the longer one wins. */
  readonly #byHead: ReadonlyMap<string, readonly string[]>;
  readonly #byFirst: ReadonlyMap<string, readonly string[]>;
  readonly #heads: RegExp | null;
  readonly #longest: number;
  #held = '';

  constructor(secrets: readonly Masked[]) {
    this.#shown = new Map(secrets.flatMap(formsOf));
    const patterns = [...this.#shown.keys()].sort((a, b) => b.length - a.length);
    this.#longest = patterns[0]?.length ?? 0;
    this.#byHead = Map.groupBy(patterns, pattern => pattern.slice(0, shortest));
    this.#byFirst = Map.groupBy(patterns, pattern => pattern[0]!);
    // With whole values, the expression would be too large to compile.
    const heads = [...this.#byHead.keys()].map(head => head.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
    this.#heads = heads.length === 0 ? null : new RegExp(heads.join('|'), 'g');
  }

  /** With other values, in the middle of the same text. */
  with(secrets: readonly Masked[]): Masker {
    const other = new Masker(secrets);
    other.#held = this.#held;
    return other;
  }

  push(chunk: string): string {
    const text = this.#held + chunk;
    const [shown, end] = this.#replace(text, this.#holdFrom(text, 0));
    this.#held = text.slice(end);
    return shown;
  }

  end(): string {
    return this.#replace(this.#held, this.#held.length)[0];
  }

  /** Returns the masked text up to the position from which it is held back, and the final value of that position. */
  #replace(text: string, hold: number): [shown: string, end: number] {
    let shown = '';
    let at = 0;
    let end = hold;
    for (let found = this.#find(text, 0); found !== null && found.at < end; found = this.#find(text, at)) {
      shown += text.slice(at, found.at) + this.#shown.get(found.pattern);
      at = found.at + found.pattern.length;
      // At the very end nothing is held back; otherwise the rest may be the beginning of another value.
      if (at > end) end = this.#holdFrom(text, at);
    }
    return [shown + text.slice(at, end), end];
  }

  #find(text: string, from: number): { at: number; pattern: string } | null {
    if (this.#heads === null) return null;
    this.#heads.lastIndex = from;
    for (let head = this.#heads.exec(text); head !== null; head = this.#heads.exec(text)) {
      const at = head.index;
      const pattern = this.#byHead.get(head[0])!.find(one => text.startsWith(one, at));
      if (pattern !== undefined) return { at, pattern };
      this.#heads.lastIndex = at + 1;
    }
    return null;
  }

  /** The first position from which the rest of the text is the beginning of a pattern. */
  #holdFrom(text: string, from: number): number {
    for (let at = Math.max(from, text.length - this.#longest + 1); at < text.length; at += 1) {
      const begin = this.#byFirst.get(text[at]!);
      const left = text.length - at;
      if (begin?.some(one => one.length > left && one.startsWith(text.slice(at)))) return at;
    }
    return text.length;
  }
}

/** The value itself, its JSON form, and its lines. */
function formsOf({ name, value }: Masked): [pattern: string, shown: string][] {
  const trimmed = value.trim();
  const lines = trimmed.split(/\r?\n/).map(line => line.trim());
  const long = lines.filter(line => line.length >= shortestLine && !armour.test(line));
  const forms = [value, trimmed, JSON.stringify(value).slice(1, -1), ...long];
  const shown = bytesOf(`[secret ${name}]`);
  return forms.filter(form => Buffer.byteLength(form) >= shortest).map(form => [bytesOf(form), shown]);
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
