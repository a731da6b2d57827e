/**
 * Where a browser may be sent back to: https, or plain http to this machine. What a client names must be what it named
 * before, to the letter; only the port of this machine's own addresses is free, because programs take what they get.
 */
import { isThisMachine } from '../../base/this-machine.ts';

export function isRedirect(uri: string): boolean {
  const url = URL.parse(uri);
  if (url === null || uri.includes('#') || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isThisMachine(url.hostname));
}

export function matchesRedirect(known: string, sent: string): boolean {
  // Written alike, too: a parser's reading of it is not what the browser would be sent.
  return withoutPort(sent) === withoutPort(known);
}

function withoutPort(uri: string): string {
  const [, before, host, port, rest] = /^(http:\/\/)([^/?#:@[]+|\[[^\]]*\])(:\d+)(\/.*)?$/.exec(uri) ?? [];
  return port === undefined || !isThisMachine(host!) ? uri : `${before}${host}${rest ?? ''}`;
}

/** The address with what the client is told, and who tells it. */
export function redirection(uri: string, told: Readonly<Record<string, string | null>>): string {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(told)) if (value !== null) url.searchParams.append(name, value);
  return url.href;
}
