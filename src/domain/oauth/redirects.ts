/**
 * Where a browser may be sent back to: https, or plain http to this machine. What a client names must be what it named
 * before, to the letter; only the port of this machine's own addresses is free, because programs take what they get.
 */
const loopback = /^(127\.0\.0\.1|\[::1\]|localhost)$/;

/** By the host name as the URL parser reads it. */
export function isLoopback(host: string): boolean {
  return loopback.test(host);
}

export function isRedirect(uri: string): boolean {
  const url = URL.parse(uri);
  if (url === null || uri.includes('#') || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

export function matchesRedirect(known: string, sent: string): boolean {
  // Written alike, too: a parser's reading of it is not what the browser would be sent.
  return withoutPort(sent) === withoutPort(known);
}

function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d+(?=\/|$)/, '$1');
}

/** The address with what the client is told, and who tells it. */
export function redirection(uri: string, told: Readonly<Record<string, string | null>>): string {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(told)) if (value !== null) url.searchParams.append(name, value);
  return url.href;
}
