/**
 * Where a browser may be redirected: https, or plain http to this machine. A redirect URI must be exactly one that
 * the client registered; only the port of this machine's own addresses is free, because programs use whichever port
 * they get.
 */
import { isThisMachine } from '../../base/this-machine.ts';

export function isRedirect(uri: string): boolean {
  const url = URL.parse(uri);
  if (url === null || uri.includes('#') || url.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isThisMachine(url.hostname));
}

export function matchesRedirect(known: string, sent: string): boolean {
  // Compared as text, because a parser's reading is not what the browser would be sent to.
  return withoutPort(sent) === withoutPort(known);
}

function withoutPort(uri: string): string {
  const [, before, host, port, rest] = /^(http:\/\/)([^/?#:@[]+|\[[^\]]*\])(:\d+)(\/.*)?$/.exec(uri) ?? [];
  return port === undefined || !isThisMachine(host!) ? uri : `${before}${host}${rest ?? ''}`;
}

export function redirection(uri: string, told: Readonly<Record<string, string | null>>): string {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(told)) if (value !== null) url.searchParams.append(name, value);
  return url.href;
}
