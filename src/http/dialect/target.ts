/**
 * Parses a request in Vault's dialect from its method, target and headers, in one place for both planes. Any spelling of
 * the target that some parser could take for the dialect is treated as a request to it.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { Failure, invalid } from '../../contract/errors.ts';
import { longestCredential } from '../../contract/restrictions.ts';
import { isRead } from '../listener/request.ts';
import { type LeaseTarget, leaseOperationIn, leaseRoute, roleIn } from './leases/target.ts';
import { type TransitCall, transitCall, transitIn, transitRoute } from './transit/target.ts';

const verbs = ['data', 'metadata', 'subkeys', 'config', 'delete', 'undelete', 'destroy'] as const;
export type StoreVerb = (typeof verbs)[number];
const tokenCalls = ['lookup-self', 'renew-self', 'revoke-self', 'create'] as const;
export type TokenCall = (typeof tokenCalls)[number];

/** A call to a mount, which is a vault as a versioned key/value store. */
export interface StoreCall {
  readonly of: 'store';
  readonly mount: string;
  readonly verb: StoreVerb;
  /** The name of a secret, or a prefix of names; empty for the whole mount. */
  readonly path: string;
  /** Whether to list the names below the path. */
  readonly isList: boolean;
}

/** Answered without a credential. */
const probes = ['health', 'seal-status', 'init', 'leader'] as const;
export type Probe = (typeof probes)[number];

export type Target =
  | { readonly of: Probe }
  | { readonly of: 'mount'; readonly path: string }
  | { readonly of: 'token'; readonly call: TokenCall }
  | { readonly of: 'login'; readonly mount: string }
  | StoreCall
  | TransitCall
  | LeaseTarget
  /** Nothing exists at this path; authenticated callers get the failure. */
  | { readonly of: 'nothing'; readonly failure: Failure };

export function isProbe(asked: Target): asked is Extract<Target, { of: Probe }> {
  return (probes as readonly string[]).includes(asked.of);
}

/** The route for the log, with placeholders instead of the names in the path. */
export function routeOf(asked: Target): string {
  if (isProbe(asked)) return `/vault/v1/sys/${asked.of}`;
  switch (asked.of) {
    case 'mount':
      return '/vault/v1/sys/internal/ui/mounts/{path}';
    case 'token':
      return `/vault/v1/auth/token/${asked.call}`;
    case 'login':
      return '/vault/v1/auth/{mount}/login';
    case 'store':
      return `/vault/v1/{mount}/${asked.verb}${asked.verb === 'config' ? '' : '/{path}'}`;
    case 'transit':
      return transitRoute(asked);
    case 'lease':
      return leaseRoute(asked);
    case 'nothing':
      return '/vault/v1';
  }
}

const prefix = '/vault/v1/';
const spelledOddly = /^(?:[a-z][a-z+.-]*:\/\/[^/?]*)?[/\\.]*vault(?:[/\\?]|%2f|%5c|$)/i;

export function isDialect(url: string): boolean {
  return url.startsWith(prefix) || spelledOddly.test(url);
}

/** The hint for clients of an unversioned store: in version 2, paths begin with `data/` or another verb. */
const unversioned = new Failure('NOT_FOUND', {
  message: 'this is a versioned key/value store (version 2): read {mount}/data/{path}',
});
const unsupported = new Failure('NOT_FOUND', { message: 'unsupported path' });
const malformed = invalid('', 'the path must be text in UTF-8, percent-encoded');

export function targetOf(url: string): Target {
  const path = url.split('?', 1)[0]!;
  if (!path.startsWith(prefix)) return { of: 'nothing', failure: new Failure('NOT_FOUND') };
  const segments = decoded(path.slice(prefix.length));
  if (segments === null) return { of: 'nothing', failure: malformed };
  const [first] = segments;
  if (first === 'sys') return systemCall(segments);
  if (first === 'auth') return authCall(segments);
  const at = segments.findIndex((segment, index) => index > 0 && isVerb(segment));
  const role = roleIn(segments, at !== -1);
  if (role !== null) return role;
  const transit = transitIn(segments);
  if (transit !== -1 && (at === -1 || transit < at)) {
    const call = transitCall(segments, transit, asksForList(queryOf(url)));
    return call ?? { of: 'nothing', failure: unsupported };
  }
  return storeCall(segments, at, queryOf(url));
}

function decoded(path: string): string[] | null {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch {
    return null;
  }
}

function systemCall([, ...rest]: readonly string[]): Target {
  const path = withoutEnd(rest);
  const probe = probes.find(one => path === one);
  if (probe !== undefined) return { of: probe };
  const mounts = 'internal/ui/mounts/';
  if (path.startsWith(mounts)) return { of: 'mount', path: path.slice(mounts.length) };
  return leaseOperationIn(path) ?? { of: 'nothing', failure: unsupported };
}

function authCall([, ...rest]: readonly string[]): Target {
  const path = withoutEnd(rest);
  const call = tokenCalls.find(one => path === `token/${one}`);
  if (call !== undefined) return { of: 'token', call };
  const mount = /^(.+)\/login$/.exec(path)?.[1];
  return mount === undefined ? { of: 'nothing', failure: unsupported } : { of: 'login', mount };
}

/** The name of a vault may contain slashes: the mount ends at the first segment that is a verb. */
function storeCall(segments: readonly string[], at: number, query: URLSearchParams): Target {
  if (at === -1) return { of: 'nothing', failure: unversioned };
  const [mount, verb] = [segments.slice(0, at).join('/'), segments[at] as StoreVerb];
  const path = segments.slice(at + 1).join('/');
  if (verb === 'config' && path !== '') return { of: 'nothing', failure: unsupported };
  return { of: 'store', mount, verb, path, isList: verb === 'metadata' && asksForList(query) };
}

function isVerb(segment: string): segment is StoreVerb {
  return (verbs as readonly string[]).includes(segment);
}

/** Accepts the values that Go parses as true. */
export function asksForList(query: URLSearchParams): boolean {
  return /^(?:1|t|true)$/i.test(String(query.get('list')));
}

export function queryOf(url: string): URLSearchParams {
  return new URLSearchParams(url.split('?').slice(1).join('?'));
}

function withoutEnd(segments: readonly string[]): string {
  return segments.join('/').replace(/\/$/, '');
}

/** The requested version; null for the current one. */
export function versionIn(url: string): number | null {
  const given = queryOf(url).get('version') ?? '';
  if (given === '') return null;
  if (!/^\d{1,9}$/.test(given)) throw invalid('version', 'must be a whole number');
  return Number(given) || null;
}

const longestBearer = 'Bearer '.length + longestCredential;

/** The credential, from Vault's own header or a bearer token; null if both are sent and differ. */
export function tokenIn({ 'x-vault-token': own, authorization }: IncomingHttpHeaders): string | null {
  const bearer = /^Bearer +([!-~]+) *$/i.exec((authorization ?? '').slice(0, longestBearer))?.[1] ?? null;
  const token = typeof own === 'string' && own !== '' ? own : null;
  if (token !== null && bearer !== null && token !== bearer) return null;
  return token ?? bearer;
}

/** API keys are checked and answered on the management plane. */
export function isApiKey(token: string | null): boolean {
  return token?.startsWith('sr_api_') ?? false;
}

/** Refuses headers for unsupported features: if they were ignored, the answer would not be what was asked for. */
export function unmetHeader(headers: IncomingHttpHeaders): Failure | null {
  if ((headers['x-vault-wrap-ttl'] ?? '') !== '') return invalid('X-Vault-Wrap-TTL', 'is not supported');
  const namespace = String(headers['x-vault-namespace'] ?? '').replaceAll('/', '');
  return namespace === '' || namespace === 'root' ? null : new Failure('NOT_FOUND');
}

/** Whether the reading plane answers the request: reads with an access key, and requests that it refuses. */
export function isForReadingPlane(asked: Target, method: string | undefined, token: string | null): boolean {
  if (asked.of === 'login' || (asked.of === 'token' && !isRead(method))) return false;
  return !isApiKey(token);
}
