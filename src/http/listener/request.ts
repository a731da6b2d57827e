/**
 * Checks that every request must pass before it is handled, and readers for its sender. Node accepts duplicate headers
 * and absolute targets; here they get 400, because two parsers could read them as two different requests.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { addressSet, plainAddress } from '../../access/address.ts';
import type { Origin, Sender } from '../../access/caller.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { longestCredential } from '../../contract/restrictions.ts';

/** Headers that may be sent only once, each with its own bit. */
const single = new Map(
  [
    'host',
    'authorization',
    'x-vault-token',
    'content-type',
    'content-length',
    'mcp-session-id',
    'origin',
    'cookie',
  ].map((name, index) => [name, 1 << index]),
);
/** Matches only before the query. */
const suspiciousPath = /^[^?]*?(?:\/\.{1,2}(?:[/?]|$)|%2e|%2f|%5c|%00|\\|\/\/)/i;

/** Null if the request is well-formed. */
export function faultOf(request: IncomingMessage): Failure | null {
  const { rawHeaders, url = '', httpVersionMinor } = request;
  // Without a version, a request is read as HTTP/0.9, which has no headers and thus no credential.
  if (httpVersionMinor > 1) return invalid('', 'the request must name HTTP/1.0 or HTTP/1.1');
  if (!url.startsWith('/')) return invalid('', 'the request target must be a path');
  if (suspiciousPath.test(url)) {
    return invalid('', 'the path must not contain dot segments, empty segments or encoded separators');
  }
  return headerFault(rawHeaders) ?? (isForeignText(request) ? notUtf8 : null);
}

const notUtf8 = invalid('content-type', 'must not name a charset other than UTF-8');

function headerFault(rawHeaders: readonly string[]): Failure | null {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    const bit = single.get(name) ?? 0;
    if ((seen & bit) !== 0) return invalid(name, 'must be sent once');
    seen |= bit;
    if (name === 'expect' && rawHeaders[at + 1]!.toLowerCase() !== '100-continue')
      return new Failure('EXPECTATION_FAILED');
  }
  return null;
}

/** Bodies are read as UTF-8; in another charset, the same bytes would be a different text. */
function isForeignText(request: IncomingMessage): boolean {
  const charset = request.headers['content-type']?.match(/;\s*charset\s*=\s*"?([^\s";]*)/i)?.[1];
  if (charset === undefined || /^(?:utf-?8|us-ascii)$/i.test(charset)) return false;
  return hasUnreadBody(request);
}

/** HEAD counts as a read: it gets the answer of a GET, without the body. */
export function isRead(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether the request has a body, according to its headers. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}

/** Whether there is a body left to read. A refused upload is not read to its end just to keep the connection open. */
export function hasUnreadBody(request: IncomingMessage): boolean {
  return !request.complete && hasBody(request);
}

const longestBearer = 'Bearer '.length + longestCredential;

/** The token of an `Authorization: Bearer` header, or null. */
export function bearerToken(header: string | undefined): string | null {
  if (header === undefined || header.length > longestBearer) return null;
  return /^Bearer +([!-~]+) *$/i.exec(header)?.[1] ?? null;
}

export type AddressOf = (request: IncomingMessage) => string;

/** The address of the peer of a connection. */
export type PeerOf = (socket: { readonly remoteAddress?: string | undefined }) => string;

/**
 * A peer on a Unix socket has no address: it is this machine. Only the listener's type decides this, never a missing
 * address, because a closed connection has none either.
 */
export function peerReader(overUnixSocket: boolean): PeerOf {
  if (overUnixSocket) return () => '127.0.0.1';
  return ({ remoteAddress = '' }) => plainAddress(remoteAddress);
}

/** Reads the address of the peer, or of the client behind it if the peer is a trusted proxy. */
export function addressReader(proxies: readonly string[], peerOf: PeerOf): AddressOf {
  if (proxies.length === 0) return request => peerOf(request.socket);
  const isProxy = addressSet(proxies);
  return request => {
    const peer = peerOf(request.socket);
    if (!isProxy(peer)) return peer;
    const hops = String(request.headers['x-forwarded-for'] ?? '')
      .split(',')
      .map(hop => plainAddress(hop.trim()));
    // The nearest hop that is not one of our proxies is the client; anyone could have written the hops before it.
    const client = hops.findLast(hop => !isProxy(hop));
    return client !== undefined && isIP(client) !== 0 ? client : peer;
  };
}

/** The client certificate in DER, as proven in the TLS handshake on the other plane; null if the client sent none. */
export function clientCertificateOf({ socket }: IncomingMessage): Uint8Array | null {
  return (socket as { clientCertificate?: Uint8Array | null }).clientCertificate ?? null;
}

export function senderOf(request: IncomingMessage, addressOf: AddressOf): Sender {
  return { address: addressOf(request), userAgent: request.headers['user-agent'] ?? '' };
}

export function originOf(request: IncomingMessage, requestId: string, addressOf: AddressOf): Origin {
  return { ...senderOf(request, addressOf), requestId };
}
