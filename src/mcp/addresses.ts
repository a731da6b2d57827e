/**
 * Which addresses are this service's own. A request must name one of them in `Host`, and in `Origin` where it
 * has one: a page that a browser was tricked into sending here names another. Nothing is looked up, so a name
 * that merely resolves to us is foreign until the operator says otherwise (`--public-url`).
 */
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { plainAddress } from '../access/address.ts';

export interface OwnAddresses {
  /** Null where the request may be answered, or which of its headers names a stranger. */
  foreignHeader(request: IncomingMessage): 'host' | 'origin' | null;
  /** Whether this is the origin of a page that this service serves. */
  isOwnOrigin(origin: string, request: IncomingMessage): boolean;
  /** Whether a `baseUrl` names this service, or one that the operator allows. */
  isOurs(url: string, request: IncomingMessage): boolean;
  /** Where people open the dashboard: as the operator says, or as this request names the service, if it does. */
  dashboardOf(request: IncomingMessage): string;
}

/** What `--host`, `--public-url` and `--mcp-base-url` say. */
export interface AddressSettings {
  readonly host: string;
  /** Where clients reach the service, as the operator says. */
  readonly publicUrls: readonly string[];
  /** What else a `baseUrl` may name. */
  readonly baseUrls: readonly string[];
}

const loopback = ['localhost', '127.0.0.1', '[::1]'];
const mostKnown = 256;

export function ownAddresses({ host, publicUrls, baseUrls }: AddressSettings): OwnAddresses {
  const named = new Set(publicUrls.map(url => new URL(url).origin));
  const namedHosts = new Set(publicUrls.map(url => new URL(url).host));
  const allowed = new Set(baseUrls.map(url => new URL(url).origin));
  const byListener = new Map<string, ReadonlySet<string>>();
  // A connection mostly repeats itself: what it said before need not be taken apart again.
  const accepted = new WeakMap<object, { readonly host: string; readonly origin: string | undefined }>();

  /** The origins under which the socket that took the request can be named. */
  function boundOrigins(request: IncomingMessage): ReadonlySet<string> {
    const { localAddress = '', localPort, encrypted } = request.socket as Partial<TLSSocket>;
    const port = localPort === undefined ? '' : `:${localPort}`; // A Unix socket has none.
    const key = `${encrypted ? 's' : ''} ${localAddress} ${port}`;
    let origins = byListener.get(key);
    if (origins === undefined) {
      const scheme = encrypted ? 'https' : 'http';
      const names = [...loopback, bracketed(host), bracketed(plainAddress(localAddress))];
      origins = new Set(names.map(name => originOf(`${scheme}://${name}${port}`)).filter(one => one !== ''));
      if (byListener.size >= mostKnown) byListener.clear();
      byListener.set(key, origins);
    }
    return origins;
  }

  function isHost(header: string | undefined, request: IncomingMessage): boolean {
    if (header === undefined) return false;
    const origin = originOf(
      `${(request.socket as Partial<TLSSocket>).encrypted ? 'https' : 'http'}://${header}`,
    );
    return namedHosts.has(header.toLowerCase()) || boundOrigins(request).has(origin);
  }

  function isOwnOrigin(origin: string, request: IncomingMessage): boolean {
    return named.has(origin) || boundOrigins(request).has(origin);
  }

  function isOrigin(header: string, request: IncomingMessage): boolean {
    const origin = originOf(header);
    return origin === header.toLowerCase() && isOwnOrigin(origin, request);
  }

  return {
    isOwnOrigin,

    foreignHeader(request) {
      const { host: named, origin } = request.headers;
      const before = accepted.get(request.socket);
      if (before !== undefined && before.host === named && before.origin === origin) return null;
      if (!isHost(named, request)) return 'host';
      if (origin !== undefined && !isOrigin(origin, request)) return 'origin';
      accepted.set(request.socket, { host: named!, origin });
      return null;
    },

    dashboardOf(request) {
      const [publicUrl] = named;
      if (publicUrl !== undefined) return publicUrl;
      const origins = [...boundOrigins(request)];
      return origins.find(origin => new URL(origin).host === request.headers.host) ?? origins[0]!;
    },

    isOurs(url, request) {
      const origin = originOf(url);
      return allowed.has(origin) || isOwnOrigin(origin, request);
    },
  };
}

/** The origin that a URL names, if it is a plain one: no user, http or https. Else nothing, which is nobody's. */
function originOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.username !== '' || parsed.password !== '') return '';
  return parsed.protocol === 'http:' || parsed.protocol === 'https:' ? parsed.origin : '';
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
