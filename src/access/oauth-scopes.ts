/**
 * What the scopes of OAuth mean for the access key that comes of them. `secrets:names` shows the names of everything in
 * the vault and no value; each of the others shows one kind in full. An access key is restricted to names as a whole or
 * not at all, so `secrets:names` says nothing beside another, and is left out of what is granted.
 */
import { type OAuthScope, oauthScopes } from '../contract/names.ts';
import { type Reader, type ResourceKind, readerSeesKind } from './caller.ts';

const kindOf: Readonly<Record<Exclude<OAuthScope, 'secrets:names'>, ResourceKind>> = {
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
} {
  const kinds = granted(scopes).flatMap(scope => (scope === 'secrets:names' ? [] : kindOf[scope]));
  return kinds.length === 0 ? { kinds: null, names_only: true } : { kinds, names_only: false };
}

/** The scope that a key by OAuth lacks for reading this; null where it has it, or has nobody to ask. */
export function missingScope(reader: Reader, kind: ResourceKind, onlyNames: boolean): OAuthScope | null {
  if (!reader.byOAuth) return null;
  const sees = readerSeesKind(reader, kind) && (onlyNames || !reader.namesOnly);
  return sees ? null : scopeOf[kind];
}
