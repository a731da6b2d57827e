/**
 * Parses pasted text and dropped files into items: `.env` lines, a JSON object, PEM blocks or a PKCS#12 file. Input that
 * can't be parsed is reported without repeating it.
 */
import { pemBlocksIn } from '../../../src/contract/pem-blocks.ts';
import { base64Of, type Dropped, isPkcs12, stemOf, textOf } from './files.ts';

export type Item =
  | { readonly kind: 'secret'; readonly name: string; readonly value: string }
  | { readonly kind: 'key'; readonly name: string; readonly pem: string }
  | { readonly kind: 'certificate'; readonly name: string; readonly pem: string }
  | { readonly kind: 'pkcs12'; readonly name: string; readonly base64: string };

export interface Parsed {
  readonly items: readonly Item[];
  readonly problems: readonly string[];
}

export function parseFile(file: Dropped): Parsed {
  if (isPkcs12(file)) {
    return {
      items: [{ kind: 'pkcs12', name: stemOf(file.name), base64: base64Of(file.bytes) }],
      problems: [],
    };
  }
  return parseText(textOf(file), stemOf(file.name));
}

export function parseText(text: string, name = 'imported'): Parsed {
  const trimmed = text.trim();
  if (trimmed === '') return { items: [], problems: [] };
  if (trimmed.includes('-----BEGIN ') && !/^\s*(export\s+)?[\w.-]+\s*=/.test(trimmed))
    return parsePem(trimmed, name);
  if (trimmed.startsWith('{') || trimmed.startsWith('[')) return parseJson(trimmed);
  return parseEnvironment(text);
}

/** An object of names and values, or a list of `{name, value}`. A value that is not a string is stored as JSON. */
function parseJson(text: string): Parsed {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { items: [], problems: ['This looks like JSON but can’t be parsed.'] };
  }
  const pairs: ([string, unknown] | null)[] = Array.isArray(parsed)
    ? parsed.map(pairOf)
    : Object.entries(parsed as object);
  const items = pairs
    .filter((pair): pair is [string, unknown] => pair !== null && pair[0] !== '')
    .map(
      ([name, value]): Item => ({
        kind: 'secret',
        name,
        value: typeof value === 'string' ? value : JSON.stringify(value),
      }),
    );
  const left = pairs.length - items.length;
  return {
    items,
    problems:
      left === 0
        ? []
        : [`Skipped ${left === 1 ? '1 entry that lacks' : `${left} entries that lack`} a name or a value.`],
  };
}

function pairOf(entry: unknown): [string, unknown] | null {
  const { name, key, value } = (entry ?? {}) as { name?: unknown; key?: unknown; value?: unknown };
  const found = name ?? key;
  return typeof found === 'string' && value !== undefined ? [found, value] : null;
}

/** Matches blanks within a line only: `\s` would rescan each empty line once for every empty line before it. */
const assignment =
  /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*("(?:\\[\s\S]|[^"\\])*"|'[^']*'|`[^`]*`|[^\r\n]*)/gm;

/** The lines of a `.env` file: quotes may span lines, `#` begins a comment, `export` is allowed. */
function parseEnvironment(text: string): Parsed {
  const items: Item[] = [];
  const rest = text.replace(assignment, (line, name: string, raw: string) => {
    items.push({ kind: 'secret', name, value: unquote(raw) });
    // Line breaks stay, so that the remaining lines keep their numbers.
    return line.replace(/[^\n]/g, '');
  });
  const unread = rest.split('\n').flatMap((line, at) => (/^\s*(#|$)/.test(line) ? [] : [at + 1]));
  return { items, problems: unread.length === 0 ? [] : [skipped(unread)] };
}

const mostNamed = 10;

/** Names lines by number only: their content may be secret. */
function skipped(lines: readonly number[]): string {
  const named = lines.slice(0, mostNamed).join(', ');
  const others = lines.length > mostNamed ? ` and ${lines.length - mostNamed} more` : '';
  return `Skipped ${lines.length === 1 ? 'line' : 'lines'} ${named}${others}: not in the form NAME=value.`;
}

const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' };

function unquote(raw: string): string {
  const text = raw.trim();
  if (/^"[\s\S]*"$/.test(text))
    return text.slice(1, -1).replace(/\\([nrt"\\$])/g, (_, letter: string) => escapes[letter]!);
  if (/^(['`])[\s\S]*\1$/.test(text)) return text.slice(1, -1);
  const comment = text.search(/\s#/);
  return (comment < 0 ? text : text.slice(0, comment)).trim();
}

/** All certificates in a text form one chain; each key is a separate item. */
function parsePem(text: string, name: string): Parsed {
  const blocks = pemBlocksIn(text);
  const chain = blocks.filter(({ label }) => label.endsWith('CERTIFICATE')).map(({ pem }) => pem);
  const keys = blocks.filter(({ label }) => label.endsWith('KEY')).map(({ pem }) => pem);
  const numbered = (index: number) => (keys.length > 1 ? `${name}-${index + 1}` : name);
  const items: Item[] = keys.map((pem, index) => ({ kind: 'key', name: numbered(index), pem: `${pem}\n` }));
  if (chain.length > 0) items.push({ kind: 'certificate', name, pem: `${chain.join('\n')}\n` });
  const left = blocks.length - keys.length - chain.length;
  const problems =
    left === 0
      ? []
      : [
          `Skipped ${left === 1 ? '1 PEM block' : `${left} PEM blocks`} with neither a key nor a certificate.`,
        ];
  return { items, problems: blocks.length === 0 ? ['This PEM is incomplete.'] : problems };
}
