/**
 * Header names as the specification and their own standards print them. The framework only knows them in lower case,
 * but a client that reads an answer byte by byte should find what the documents say. The vault endpoint writes its
 * own headers in the same way.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** Those that are not simply a capital at the beginning of each word. */
const spellings = new Map(
  ['ETag', 'WWW-Authenticate', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'].map(
    name => [name.toLowerCase(), name],
  ),
);

/** All names that go out are ours, so there are few of them to remember. */
function spelled(name: string): string {
  const lower = name.toLowerCase();
  const known = spellings.get(lower);
  if (known !== undefined) return known;
  const spelling = lower.replace(/(?:^|-)[a-z]/g, start => start.toUpperCase());
  spellings.set(lower, spelling);
  return spelling;
}

/** From here on, all headers of the answer are sent in their printed form. */
export function spellHeaders(response: ServerResponse): void {
  const { setHeader, writeHead } = response;
  response.setHeader = (name, value) => setHeader.call(response, spelled(name), value);
  response.writeHead = ((status: number, headers: OutgoingHttpHeaders = {}) => {
    const renamed = Object.entries(headers).map(([name, value]) => [spelled(name), value]);
    return writeHead.call(response, status, Object.fromEntries(renamed));
  }) as ServerResponse['writeHead'];
}
