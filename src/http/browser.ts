/**
 * Handles requests from browsers: the session cookie, the site, and whether the page that sent the request is our
 * own. A request that carries the cookie and may change something must come from our own pages, according to its
 * Origin and to Sec-Fetch-Site, which no page can forge.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyReply } from 'fastify';
import { addressSet } from '../access/address.ts';
import { Failure } from '../contract/errors.ts';
import type { Site } from '../domain/accounts/passkeys.ts';
import { isRead, type PeerOf } from './request.ts';

export const sessionCookie = '__Host-strongroom';
export const signOnCookie = '__Host-strongroom-sso';

export type SiteOf = (request: IncomingMessage) => Site;

/** By the Host header; behind a proxy that the operator named, by what the proxy says that it was asked for. */
export function siteReader(encrypted: boolean, proxies: readonly string[], peerOf: PeerOf): SiteOf {
  const isProxy = proxies.length === 0 ? () => false : addressSet(proxies);
  return request => {
    const forwarded = isProxy(peerOf(request.socket));
    const host = (forwarded ? single(request, 'x-forwarded-host') : null) ?? request.headers.host ?? '';
    const proto = forwarded
      ? (single(request, 'x-forwarded-proto') ?? 'https')
      : encrypted
        ? 'https'
        : 'http';
    return siteAt(`${proto === 'http' ? 'http' : 'https'}://${host}`);
  };
}

function siteAt(url: string): Site {
  if (!URL.canParse(url)) return { origin: 'null', host: '' };
  const { origin, hostname } = new URL(url);
  return { origin, host: hostname };
}

function single(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' && !value.includes(',') ? value : null;
}

/** Browsers tie passkeys to host names, never to IP addresses. */
export function takesPasskeys({ host }: Site): boolean {
  return host !== '' && isIP(host.replace(/^\[|\]$/g, '')) === 0;
}

/** Null if it is missing, or sent twice. */
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
