/**
 * The target of a request to the gateway: `/via/{rule}/…`, or `/via/{rule}/~{access key}/…` for programs that can be
 * given nothing but an address. What follows is taken as it was sent; whether it is a proper path is decided with the
 * address of the rule in front of it.
 */
import { longestCredential } from '../../contract/restrictions.ts';

const prefix = '/via/';
export const gatewayRoute = '/via/{rule}';

export interface GatewayTarget {
  readonly rule: string;
  /** The access key in the path, if there is one. */
  readonly token: string | null;
  /** Begins with a slash, and ends with the query if there is one. */
  readonly path: string;
}

export function isGateway(url: string): boolean {
  return url.startsWith(prefix);
}

/** npm encodes the slash in the name of a scoped package, and registries accept it as it is. */
export function withPlainScope(url: string): string {
  return url.replace(/^([^?%]*\/@[\w.~-]+)%2f/i, '$1/');
}

/** Null if no rule can be meant. */
export function targetIn(url: string): GatewayTarget | null {
  const [, name = '', rest = ''] = /^\/via\/([^/?]*)(.*)$/.exec(url) ?? [];
  const [, token = null, path] = /^\/~([!-.0->@-~]*)(.*)$/.exec(rest) ?? [null, null, rest];
  const rule = decoded(name);
  if (rule === null || rule === '' || (token?.length ?? 0) > longestCredential) return null;
  return { rule, token, path: path!.startsWith('/') ? path! : `/${path}` };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text).normalize('NFC');
  } catch {
    return null;
  }
}
