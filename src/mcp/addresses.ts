/**
 * Determines which addresses are this service's own. A request must name one of them in `Host`, and in `Origin` if it
 * has one: a request that a foreign page made a browser send (DNS rebinding) names another. Names are not resolved, so a
 * name that resolves to this machine is foreign until the operator adds it with `--public-url`.
 */
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { plainAddress } from '../access/address.ts';

export type OwnAddresses = ReturnType<typeof ownAddresses>;

/** The values of `--host`, `--public-url` and `--mcp-base-url`. */
export interface AddressSettings {
  readonly host: string;
  /** The addresses at which clients reach the service. */
  readonly publicUrls: readonly string[];
  /** Other addresses that a `baseUrl` may name. */
  readonly baseUrls: readonly string[];
}

const loopback = ['localhost', '127.0.0.1', '[::1]'];
const mostKnown = 256;

export function ownAddresses({ host, publicUrls, baseUrls }: AddressSettings) {
  const named = new Set(publicUrls.map(url => new URL(url).origin));
  const namedHosts = new Set(publicUrls.map(url => new URL(url).host));
  const allowed = new Set(baseUrls.map(url => new URL(url).origin));
  const byListener = new Map<string, ReadonlySet<string>>();
  // The headers of a connection rarely change, so the last accepted ones are not parsed again.
  const accepted = new WeakMap<object, { readonly host: string; readonly origin: string | undefined }>();

  /** The origins that lead to the socket that received the request. */
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

  /** Whether this is the origin of a page that this service serves. */
  function isOwnOrigin(origin: string, request: IncomingMessage): boolean {
    return named.has(origin) || boundOrigins(request).has(origin);
  }

  function isOrigin(header: string, request: IncomingMessage): boolean {
    const origin = originOf(header);
    return origin === header.toLowerCase() && isOwnOrigin(origin, request);
  }

  return {
    isOwnOrigin,

    /** The header that names a foreign address; null if the request may be answered. */
    foreignHeader(request: IncomingMessage): 'host' | 'origin' | null {
      const { host: named, origin } = request.headers;
      const before = accepted.get(request.socket);
      if (before !== undefined && before.host === named && before.origin === origin) return null;
      if (!isHost(named, request)) return 'host';
      if (origin !== undefined && !isOrigin(origin, request)) return 'origin';
      accepted.set(request.socket, { host: named!, origin });
      return null;
    },

    /** The dashboard's address: the first public URL, or an own address, preferably the one that the request names. */
    dashboardOf(request: IncomingMessage): string {
      const [publicUrl] = named;
      if (publicUrl !== undefined) return publicUrl;
      const origins = [...boundOrigins(request)];
      return origins.find(origin => new URL(origin).host === request.headers.host) ?? origins[0]!;
    },

    /** Whether a `baseUrl` names this service, or an address that the operator allows. */
    isOurs(url: string, request: IncomingMessage): boolean {
      const origin = originOf(url);
      return allowed.has(origin) || isOwnOrigin(origin, request);
    },
  };
}

/** The origin of an http or https URL without a user; otherwise the empty string, which matches no address. */
function originOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.username !== '' || parsed.password !== '') return '';
  return parsed.protocol === 'http:' || parsed.protocol === 'https:' ? parsed.origin : '';
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}
