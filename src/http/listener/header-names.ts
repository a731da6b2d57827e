/**
 * Writes header names as the specification and their standards spell them. The framework only knows them in lower case,
 * but a client that compares bytes should find the documented spelling. The vault endpoint writes its own headers in
 * the same way.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** The names that do more than capitalize each word. */
const spellings = new Map(
  ['ETag', 'WWW-Authenticate', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'].map(
    name => [name.toLowerCase(), name],
  ),
);

/** All header names in answers are our own, so the map stays small. */
function spelled(name: string): string {
  const lower = name.toLowerCase();
  const known = spellings.get(lower);
  if (known !== undefined) return known;
  const spelling = lower.replace(/(?:^|-)[a-z]/g, start => start.toUpperCase());
  spellings.set(lower, spelling);
  return spelling;
}

/** Makes the response send all headers that are set from now on in this spelling. */
export function spellHeaders(response: ServerResponse): void {
  const { setHeader, writeHead } = response;
  response.setHeader = (name, value) => setHeader.call(response, spelled(name), value);
  response.writeHead = ((status: number, headers: OutgoingHttpHeaders = {}) => {
    const renamed = Object.entries(headers).map(([name, value]) => [spelled(name), value]);
    return writeHead.call(response, status, Object.fromEntries(renamed));
  }) as ServerResponse['writeHead'];
}
