/**
 * Inserts a text into a JSON object at a pointer, and leaves every other byte as it was sent: numbers, escapes,
 * spaces and the order of fields don't change. Refuses input that two parsers could read differently: a duplicate
 * field, invalid UTF-8, or a place that is already occupied.
 */
import { invalid } from '../../contract/errors.ts';

interface Field {
  readonly from: number;
  /** Its own fields, if it is an object. */
  readonly fields: ReadonlyMap<string, Field> | null;
}

const deepest = 100;

/** `written` is the text in its final JSON form. */
export function insertedInto(body: Buffer | null, names: readonly string[], written: string): string {
  const text = body === null ? '{}' : decoded(body);
  let at = new Scanner(text).document();
  let depth = 0;
  for (; depth < names.length - 1; depth++) {
    const next = at.fields!.get(names[depth]!);
    if (next === undefined) break;
    if (next.fields === null) throw taken();
    at = next;
  }
  if (at.fields!.has(names[depth]!)) throw taken();
  const [own, ...inner] = names.slice(depth).map(name => `${JSON.stringify(name)}:`);
  const field = `${own}${inner.map(name => `{${name}`).join('')}${written}${'}'.repeat(inner.length)}`;
  const behind = at.from + 1;
  return `${text.slice(0, behind)}${field}${at.fields!.size === 0 ? '' : ','}${text.slice(behind)}`;
}

function decoded(body: Buffer): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    JSON.parse(text);
    return text;
  } catch {
    throw notAnObject();
  }
}

/** Walks through a text that is valid JSON. */
class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Field {
    const found = this.#value(0);
    if (found.fields === null) throw notAnObject();
    return found;
  }

  #value(depth: number): Field {
    if (depth > deepest) throw invalid('body', `must not be nested more than ${deepest} levels deep`);
    this.#skip(/[ \t\n\r]*/y);
    const from = this.#at;
    const first = this.#text[from];
    const fields = first === '{' ? this.#fields(depth) : null;
    if (first === '[') this.#items(depth);
    else if (first !== '{') this.#skip(/"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,\]}]+/y);
    return { from, fields };
  }

  #fields(depth: number): Map<string, Field> {
    const fields = new Map<string, Field>();
    this.#skip(/\{[ \t\n\r]*/y);
    while (this.#text[this.#at] !== '}') {
      const name = JSON.parse(this.#skip(/"[^"\\]*(?:\\.[^"\\]*)*"/y)) as string;
      if (fields.has(name)) throw invalid('body', 'must not contain a field twice');
      this.#skip(/[ \t\n\r]*:/y);
      fields.set(name, this.#value(depth + 1));
      this.#skip(/[ \t\n\r]*,?[ \t\n\r]*/y);
    }
    this.#at++;
    return fields;
  }

  #items(depth: number): void {
    this.#skip(/\[[ \t\n\r]*/y);
    while (this.#text[this.#at] !== ']') {
      this.#value(depth + 1);
      this.#skip(/[ \t\n\r]*,?[ \t\n\r]*/y);
    }
    this.#at++;
  }

  #skip(expected: RegExp): string {
    expected.lastIndex = this.#at;
    const [found] = expected.exec(this.#text)!;
    this.#at += found.length;
    return found;
  }
}

export function taken() {
  return invalid('body', 'must not contain the field that the value goes into');
}

function notAnObject() {
  return invalid('body', 'must be a JSON object, because the value goes into it');
}
