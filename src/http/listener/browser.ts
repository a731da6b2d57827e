/**
 * Handles requests from browsers: the session cookie, the site, and whether the page that sent the request is our
 * own. A request that carries the cookie and may change something must come from our own pages, according to its
 * Origin and to Sec-Fetch-Site, which no page can forge.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyReply } from 'fastify';
import { addressSet } from '../../access/address.ts';
import { Failure } from '../../contract/errors.ts';
import type { Site } from '../../domain/sign-in/passkeys.ts';
import { type AddressSettings, ownAddresses } from '../../mcp/addresses.ts';
import { isRead, type PeerOf } from './request.ts';

export const sessionCookie = '__Host-strongroom';
export const signOnCookie = '__Host-strongroom-sso';

/** Null if the request names the service by an address that is not its own. */
export type SiteOf = (request: IncomingMessage) => Site | null;

interface SiteParts {
  readonly addresses: AddressSettings;
  /** Whether the service terminates TLS itself. */
  readonly encrypted: boolean;
  readonly proxies: readonly string[];
  readonly peerOf: PeerOf;
}

/**
 * Reads the address that the browser sees, from the Host header or from the headers of a trusted proxy. It is accepted
 * only if it is one of the service's own. Otherwise a page on another port of the same host could make that host's
 * passkeys sign for its own origin, and send the result here with a matching Host header.
 */
export function siteReader({ addresses, encrypted, proxies, peerOf }: SiteParts): SiteOf {
  const isProxy = addressSet(proxies);
  const own = ownAddresses(addresses);
  const direct = encrypted ? 'https' : 'http';
  return request => {
    const { host = '' } = request.headers;
    const claimed = isProxy(peerOf(request.socket))
      ? [forwardedAddress(request, host), ...(isForwarded(request) ? [] : [`${direct}://${host}`])]
      : [`${direct}://${host}`];
    const sites = claimed.map(siteAt).filter(site => site !== null);
    return sites.find(({ origin }) => own.isOwnOrigin(origin, request)) ?? null;
  };
}

function forwardedAddress(request: IncomingMessage, host: string): string {
  const proto = single(request, 'x-forwarded-proto') === 'http' ? 'http' : 'https';
  return `${proto}://${single(request, 'x-forwarded-host') ?? host}`;
}

/** A program on the proxy's machine may also connect directly, from the same address. */
function isForwarded({ headers }: IncomingMessage): boolean {
  return ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'].some(
    name => headers[name] !== undefined,
  );
}

function siteAt(url: string): Site | null {
  const parsed = URL.parse(url);
  if (parsed === null || `${parsed.protocol}//${parsed.host}/` !== parsed.href) return null;
  return { origin: parsed.origin, host: parsed.hostname };
}

export function unknownAddress(): Failure {
  return new Failure('FORBIDDEN', {
    message:
      'This is not one of the service’s own addresses: use the address that it prints at startup, or add this one with --public-url',
  });
}

function single(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' && !value.includes(',') ? value : null;
}

/** Browsers tie passkeys to host names, never to IP addresses. */
export function takesPasskeys({ host }: Site): boolean {
  return host !== '' && isIP(host.replace(/^\[|\]$/g, '')) === 0;
}

/** The value of a cookie; null if it is missing or was sent twice. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | null {
  const found = (headers.cookie ?? '').split(';').filter(pair => pair.trim().startsWith(`${name}=`));
  return found.length === 1 ? found[0]!.trim().slice(name.length + 1) : null;
}

export function setCookie(name: string, value: string, maxAge: number, sameSite: 'Strict' | 'Lax'): string {
  return `${name}=${value}; Path=/; Max-Age=${Math.floor(maxAge / 1000)}; HttpOnly; Secure; SameSite=${sameSite}`;
}

export const clearedSession = setCookie(sessionCookie, '', 0, 'Strict');

/** An invalid cookie is removed; one that could not be looked up stays. */
export async function clearIfOver<T>(reply: FastifyReply, session: Promise<T>): Promise<T> {
  try {
    return await session;
  } catch (error) {
    const isBad =
      error instanceof Failure && (error.code === 'UNAUTHORIZED' || error.code === 'RATE_LIMITED');
    if (isBad) reply.header('set-cookie', clearedSession);
    throw error;
  }
}

/** `strict`: the request carries a cookie, so a page other than ours might have made the browser send it. */
export function checkOwnPage(request: IncomingMessage, site: Site, strict: boolean): void {
  if (isRead(request.method)) return;
  const { origin, 'sec-fetch-site': fetchSite } = request.headers;
  const ownOrigin = origin === undefined ? null : origin === site.origin;
  const ownFetch = fetchSite === undefined ? null : fetchSite === 'same-origin';
  const contradicted = ownOrigin === false || ownFetch === false;
  const confirmed = ownOrigin === true || ownFetch === true;
  if (!contradicted && (confirmed || !strict)) return;
  throw new Failure('FORBIDDEN', { message: 'The request does not come from a page of this service' });
}
