/**
 * The part of YAML that lists of secrets are written in: mappings, and scalars of every style. Scalars stay text, so that
 * `no`, `0123` and `1e3` are what was written. Anything else (sequences, anchors, tags, flow collections) is refused by line.
 */
import { Refusal } from '../../service/settings/report.ts';

export interface Mapping {
  readonly [name: string]: string | Mapping;
}

interface Line {
  readonly number: number;
  readonly indent: number;
  readonly text: string;
  readonly raw: string;
}

export function parseYaml(source: string): Mapping {
  const lines = source.split(/\r?\n/).map((raw, at): Line => {
    const text = raw.trimStart();
    return { number: at + 1, indent: raw.length - text.length, text: text.trimEnd(), raw };
  });
  return new Reader(lines).document();
}

const blank = ({ text }: Line) => text === '' || text.startsWith('#');
/** The name is quoted, or goes as far as the first colon with a blank after it; each character is looked at once. */
const key =
  /^(?:("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*|((?:[^\s"'#&*!|>%@`[\]{},?-]|-[^\s#])(?:[^#:]|:(?=\S))*)):(?:\s+(.*))?$/;

/** Lists of secrets have a level or two. */
const deepest = 100;

class Reader {
  readonly #lines: readonly Line[];
  #at = 0;
  #depth = 0;

  constructor(lines: readonly Line[]) {
    this.#lines = lines;
  }

  document(): Mapping {
    this.#skip();
    if (this.#lines[this.#at]?.text === '---') this.#at += 1;
    this.#skip();
    const first = this.#lines[this.#at];
    const mapping = first === undefined ? {} : this.#mapping(first.indent);
    this.#skip();
    if (this.#at < this.#lines.length) refuse(this.#lines[this.#at]!);
    return mapping;
  }

  #mapping(indent: number): Mapping {
    const pairs = new Map<string, string | Mapping>();
    for (this.#skip(); this.#at < this.#lines.length; this.#skip()) {
      const line = this.#lines[this.#at]!;
      if (line.indent < indent || line.text === '...') break;
      const [, quoted, plain, rest = ''] = key.exec(line.text) ?? [];
      const name = quoted ?? plain?.trimEnd();
      if (line.indent > indent || line.raw.startsWith('\t') || name === undefined) return refuse(line);
      const text = scalarOf(name, line);
      if (pairs.has(text)) refuse(line);
      this.#at += 1;
      pairs.set(text, this.#value(rest, line));
    }
    return Object.fromEntries(pairs);
  }

  #value(rest: string, line: Line): string | Mapping {
    if (/^[|>]/.test(rest)) return this.#block(rest, line);
    if (rest !== '' && !rest.startsWith('#')) return scalarOf(rest, line);
    this.#skip();
    const next = this.#lines[this.#at];
    if (next === undefined || next.indent <= line.indent) return '';
    if (this.#depth === deepest) refuse(next);
    this.#depth += 1;
    const inner = this.#mapping(next.indent);
    this.#depth -= 1;
    return inner;
  }

  /** `|` keeps line breaks, `>` folds them; `-` and `+` say what becomes of the last ones. */
  #block(header: string, line: Line): string {
    const [, style, first = '', second = ''] = /^([|>])([1-9+-]?)([1-9+-]?)(?:\s+#.*)?$/.exec(header) ?? [];
    if (style === undefined) return refuse(line);
    const marks = first + second;
    const from = this.#at;
    while (
      this.#at < this.#lines.length &&
      (this.#lines[this.#at]!.text === '' || this.#lines[this.#at]!.indent > line.indent)
    )
      this.#at += 1;
    const body = this.#lines.slice(from, this.#at);
    const given = /[1-9]/.exec(marks)?.[0];
    const indent =
      given === undefined ? (body.find(({ text }) => text !== '')?.indent ?? 0) : line.indent + Number(given);
    const texts = body.map(({ raw }) => raw.slice(indent));
    return chomped(style === '|' ? texts.join('\n') : folded(texts), marks);
  }

  #skip(): void {
    while (this.#at < this.#lines.length && blank(this.#lines[this.#at]!)) this.#at += 1;
  }
}

function chomped(text: string, marks: string): string {
  if (marks.includes('+')) return `${text}\n`;
  const trimmed = text.replace(/\n+$/, '');
  return marks.includes('-') || trimmed === '' ? trimmed : `${trimmed}\n`;
}

/** One line break is a space; more lines than one stay, and so do lines that are indented further. */
function folded(lines: readonly string[]): string {
  return lines.reduce((text, line, at) => {
    if (at === 0) return line;
    const before = lines[at - 1]!;
    const joins = line !== '' && before !== '' && !/^\s/.test(line) && !/^\s/.test(before);
    return joins
      ? `${text} ${line}`
      : before === '' && line !== '' && text.endsWith('\n')
        ? text + line
        : `${text}\n${line}`;
  }, '');
}

const named: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
};

function scalarOf(text: string, line: Line): string {
  const [, double] = /^"((?:[^"\\]|\\.)*)"(?:\s+#.*)?$/.exec(text) ?? [];
  if (double !== undefined) return unescaped(double, line);
  const [, single] = /^'((?:[^']|'')*)'(?:\s+#.*)?$/.exec(text) ?? [];
  if (single !== undefined) return single.replaceAll("''", "'");
  if (/^["'&*!%@`[\]{},]|^[?-](\s|$)/.test(text)) return refuse(line);
  const comment = text.search(/\s#/);
  return (comment < 0 ? text : text.slice(0, comment)).trimEnd();
}

function unescaped(text: string, line: Line): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/g,
    (_, x, u, long, letter) => {
      if (letter === undefined) return String.fromCodePoint(Number.parseInt(x ?? u ?? long, 16));
      return named[letter] ?? refuse(line);
    },
  );
}

function refuse({ number }: Line): never {
  throw new Refusal(
    `line ${number} of the YAML is not a name and a text, or uses what this command does not read`,
  );
}
