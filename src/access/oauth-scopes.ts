/**
 * Maps OAuth scopes to restrictions of the access key. `secrets:names` shows the names of everything in the vault but
 * no values; `secrets:use` permits using what the key sees through use rules, and shows nothing more; each of the
 * others shows one kind completely. An access key is restricted to names as a whole or not at all, so `secrets:names`
 * has no meaning together with another scope, and is left out of the granted scopes.
 */
import { type OAuthScope, oauthScopes } from '../contract/names.ts';
import { type Reader, type ResourceKind, readerSeesKind, resourceKinds } from './caller.ts';

const scopeOf = (kind: ResourceKind): OAuthScope => `${kind}s:read`;

/** The smallest scope that can be requested. */
export const firstScope: OAuthScope = 'secrets:names';

/** The scope required for using anything through the service. */
export const useScope: OAuthScope = 'secrets:use';

/** The known scopes in a client's text. */
export function scopesIn(text: string): OAuthScope[] {
  const asked = new Set(text.split(' '));
  return oauthScopes.filter(scope => asked.has(scope));
}

/** The scopes that are granted if these are chosen. */
export function granted(chosen: readonly OAuthScope[]): OAuthScope[] {
  const full = oauthScopes.filter(scope => scope !== firstScope && chosen.includes(scope));
  return full.length === 0 ? [firstScope] : full;
}

export function restrictionsOf(scopes: readonly OAuthScope[]) {
  const may_use = scopes.includes(useScope);
  const kinds = resourceKinds.filter(kind => scopes.includes(scopeOf(kind)));
  return { kinds: kinds.length === 0 ? null : kinds, names_only: kinds.length === 0, may_use };
}

/** The scope that an access key from OAuth lacks for this read; null if it lacks none, or is not from OAuth. */
export function missingScope(reader: Reader, kind: ResourceKind, onlyNames: boolean): OAuthScope | null {
  if (!reader.byOAuth) return null;
  const sees = readerSeesKind(reader, kind) && (onlyNames || !reader.namesOnly);
  return sees ? null : scopeOf(kind);
}
