/**
 * The access key of a request to the gateway, which programs send in place of the key of the service that they call: as
 * a bearer token, as a password, or in the header that the service reads. It never leaves: every header that contains it
 * is dropped, and so is every header that could hold another credential.
 */
import type { IncomingMessage } from 'node:http';
import { bearerToken } from '../listener/request.ts';

type Header = readonly [name: string, value: string];

/** Headers in which programs send the key of a service. */
const keyHeaders = ['x-api-key', 'api-key', 'x-goog-api-key', 'private-token', 'x-auth-token'];
/** Every credential of ours begins like this. */
const ours = /^sr_/;
const withheld = /^(?:authorization|proxy-.*|cookie2?|x-vault-.*)$/;

/** An access key in the path comes first: whatever else is sent next to it is not meant for us. */
export function tokenIn({ headers }: Pick<IncomingMessage, 'headers'>, inPath: string | null): string | null {
  if (inPath !== null) return inPath;
  const { authorization } = headers;
  if (authorization !== undefined) {
    return bearerToken(authorization.replace(/^token /i, 'Bearer ')) ?? tokenInPair(authorization);
  }
  const sent = keyHeaders.map(name => headers[name]).find(value => value !== undefined);
  return sent === undefined ? null : bearerToken(`Bearer ${sent}`);
}

/** The password, or the user name if that is one of our credentials, as `curl -u KEY:` sends it. */
function tokenInPair(authorization: string): string | null {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(authorization)?.[1];
  if (encoded === undefined) return null;
  const [, user = '', password = ''] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  return bearerToken(`Bearer ${ours.test(password) || !ours.test(user) ? password : user}`);
}

/** The headers of a request without credentials, with names in lower case. */
export function harmlessHeaders(
  { rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>,
  token: string,
): Header[] {
  const headers: Header[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    const value = rawHeaders[at + 1]!;
    if (!withheld.test(name) && !value.includes(token)) headers.push([name, value]);
  }
  return headers;
}
