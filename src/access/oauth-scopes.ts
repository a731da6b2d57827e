/**
 * What the scopes of OAuth mean for the access key that comes of them. `secrets:names` shows the names of everything in
 * the vault and no value; `secrets:use` has what the key sees used by its use rules, and shows no more; each of the
 * others shows one kind in full. An access key is restricted to names as a whole or not at all, so `secrets:names` says
 * nothing beside another, and is left out of what is granted.
 */
import { type OAuthScope, oauthScopes } from '../contract/names.ts';
import { type Reader, type ResourceKind, readerSeesKind } from './caller.ts';

const kindOf: Readonly<Partial<Record<OAuthScope, ResourceKind>>> = {
  'secrets:read': 'secret',
  'keys:read': 'key',
  'certificates:read': 'certificate',
};
const scopeOf: Readonly<Record<ResourceKind, OAuthScope>> = {
  secret: 'secrets:read',
  key: 'keys:read',
  certificate: 'certificates:read',
};

/** The least that is worth asking for. */
export const firstScope: OAuthScope = 'secrets:names';

/** What having the service use anything takes. */
export const useScope: OAuthScope = 'secrets:use';

/** Those that exist, of what a client wrote. */
export function scopesIn(text: string): OAuthScope[] {
  const asked = new Set(text.split(' '));
  return oauthScopes.filter(scope => asked.has(scope));
}

/** What is granted where these are chosen. */
export function granted(chosen: readonly OAuthScope[]): OAuthScope[] {
  const full = oauthScopes.filter(scope => scope !== firstScope && chosen.includes(scope));
  return full.length === 0 ? [firstScope] : full;
}

/** The restrictions of the access key. */
export function restrictionsOf(scopes: readonly OAuthScope[]): {
  readonly kinds: readonly ResourceKind[] | null;
  readonly names_only: boolean;
  readonly may_use: boolean;
} {
  const may_use = scopes.includes(useScope);
  const kinds = granted(scopes).flatMap(scope => kindOf[scope] ?? []);
  return kinds.length === 0
    ? { kinds: null, names_only: true, may_use }
    : { kinds, names_only: false, may_use };
}

/** The scope that a key by OAuth lacks for reading this; null where it has it, or has nobody to ask. */
export function missingScope(reader: Reader, kind: ResourceKind, onlyNames: boolean): OAuthScope | null {
  if (!reader.byOAuth) return null;
  const sees = readerSeesKind(reader, kind) && (onlyNames || !reader.namesOnly);
  return sees ? null : scopeOf[kind];
}
