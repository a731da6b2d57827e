/**
 * Parses untrusted JSON. Before parsing, one pass over the text refuses what a parser would accept: excessive nesting,
 * duplicate members, and `__proto__`. The pass allocates no more than the keys of the objects that are open.
 */
import { isUtf8 } from 'node:buffer';
import { invalid } from '../../contract/errors.ts';
import { isSafeText } from '../../contract/text.ts';

const deepest = 32;
const longestName = 128;
const quote = 0x22;
const backslash = 0x5c;

/** Refuses bytes that are not UTF-8: silently replaced, they would change the secret that was sent. */
export function parseJson(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) throw invalid('', 'the body must be valid UTF-8');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  scan(text);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid('', 'the body must be valid JSON', cause);
  }
}

/** Walks the brackets and strings. Other syntax errors are left to the parser. */
function scan(text: string): void {
  const open: (Set<string> | null)[] = [];
  let expectsKey = false;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at);
        if (expectsKey) noteKey(open.at(-1)!, text.slice(at, end + 1));
        expectsKey = false;
        at = end;
        break;
      }
      case 0x7b: // {
        push(open, new Set());
        expectsKey = true;
        break;
      case 0x5b: // [
        push(open, null);
        expectsKey = false;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        open.pop();
        expectsKey = false;
        break;
      case 0x2c: // ,
        expectsKey = open.at(-1) instanceof Set;
    }
  }
}

function push(open: (Set<string> | null)[], level: Set<string> | null): void {
  open.push(level);
  if (open.length > deepest) throw invalid('', `the body must not be nested deeper than ${deepest} levels`);
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code === backslash) at++;
  }
  return text.length;
}

function noteKey(keys: Set<string>, literal: string): void {
  let key: string;
  try {
    key = JSON.parse(literal) as string; // The same key can be written with and without escapes.
  } catch {
    return;
  }
  if (key === '__proto__') throw invalid('__proto__', 'is not a field of this request');
  if (keys.has(key)) throw invalid(isSafeText(key) ? key.slice(0, longestName) : '', 'must be given once');
  keys.add(key);
}
