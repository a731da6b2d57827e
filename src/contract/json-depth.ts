/**
 * The nesting depth of JSON. Check it before walking through stored JSON: a walk needs stack space for each level, so
 * a few kilobytes of text could exhaust the stack. Request bodies have a lower limit, which is applied when they are
 * parsed.
 */

/** Far deeper than anyone writes, and far below what the stack allows. */
export const deepestWalked = 500;

const quote = 0x22;
const backslash = 0x5c;

/** Whether a JSON text can be walked through. Meaningless for text that isn't JSON. */
export function isWalkable(json: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (inString && code === backslash) at++;
    else if (code === quote) inString = !inString;
    else if (!inString) depth += stepOf(code);
    if (depth > deepestWalked) return false;
  }
  return true;
}

function stepOf(code: number): number {
  if (code === 0x7b || code === 0x5b) return 1; // { and [
  return code === 0x7d || code === 0x5d ? -1 : 0; // } and ]
}
