/**
 * How deep JSON is nested. Whatever walks through a JSON text that was stored asks first: a walk takes a part of the
 * stack for each level, so a text of a few kilobytes could exhaust it. Bodies of requests are bounded more closely,
 * when they are parsed.
 */

/** Far more than anybody writes, and far less than the stack holds. */
export const deepestWalked = 500;

const quote = 0x22;
const backslash = 0x5c;

/** Whether a JSON text can be walked through. Of what is no JSON it says nothing. */
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
