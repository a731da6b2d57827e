/**
 * What every request must be before anything looks at it, and who sent it. Node lets doubled headers and
 * absolute targets pass; here they end with 400, because two readers could take them for two requests.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { addressSet, plainAddress } from '../access/address.ts';
import type { Origin, Sender } from '../access/caller.ts';
import { type Failure, invalid } from '../contract/errors.ts';

/** Each with a bit of its own. */
const single = new Map(
  ['host', 'authorization', 'content-type', 'content-length', 'mcp-session-id', 'origin', 'cookie'].map(
    (name, index) => [name, 1 << index],
  ),
);
const suspiciousPath = /\/\.{1,2}(?:\/|$)|%2e|%2f|%5c|%00|\\|\/\//i;

/** Null where the request is sound. */
export function faultOf({ rawHeaders, url = '' }: IncomingMessage): Failure | null {
  if (!url.startsWith('/')) return invalid('', 'the request target must be a path');
  const query = url.indexOf('?');
  if (suspiciousPath.test(query < 0 ? url : url.slice(0, query))) {
    return invalid('', 'the path must not hold dot segments, empty segments or encoded separators');
  }
  return doubledHeader(rawHeaders);
}

function doubledHeader(rawHeaders: readonly string[]): Failure | null {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    const bit = single.get(name) ?? 0;
    if ((seen & bit) !== 0) return invalid(name, 'must be sent once');
    seen |= bit;
  }
  return null;
}

/** The token of an `Authorization: Bearer` header, or null. */
export function bearerToken(header: string | undefined): string | null {
  if (header === undefined || header.length > 512) return null;
  return /^Bearer +([!-~]+) *$/i.exec(header)?.[1] ?? null;
}

export type AddressOf = (request: IncomingMessage) => string;

/** The address of the peer; of the client behind it, where the peer is the proxy that the operator named. */
export function addressReader(proxies: readonly string[]): AddressOf {
  const peerOf = (request: IncomingMessage) => plainAddress(request.socket.remoteAddress ?? '');
  if (proxies.length === 0) return peerOf;
  const isProxy = addressSet(proxies);
  return request => {
    const peer = peerOf(request);
    if (!isProxy(peer)) return peer;
    const hops = String(request.headers['x-forwarded-for'] ?? '')
      .split(',')
      .map(hop => plainAddress(hop.trim()));
    // The nearest hop that is not a proxy of ours is the client; what stands before it anyone may have written.
    const client = hops.findLast(hop => !isProxy(hop));
    return client !== undefined && isIP(client) !== 0 ? client : peer;
  };
}

export function senderOf(request: IncomingMessage, addressOf: AddressOf): Sender {
  return { address: addressOf(request), userAgent: request.headers['user-agent'] ?? '' };
}

export function originOf(request: IncomingMessage, requestId: string, addressOf: AddressOf): Origin {
  return { ...senderOf(request, addressOf), requestId };
}
