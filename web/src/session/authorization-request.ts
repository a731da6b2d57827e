/**
 * Keeps the OAuth authorization request of an MCP client while the person signs in, which leads to other pages and
 * perhaps to the single sign-on issuer. The request is not secret, and the service validates it every time.
 */
const kept = 'authorization-request';
export const authorizePage = '/oauth/authorize';

/** Must run first, before any page redirects. */
export function keepAuthorizationRequest(): void {
  const { pathname, search } = window.location;
  if (pathname === authorizePage && search !== '') window.sessionStorage.setItem(kept, search);
}

export function isAuthorizationWaiting(): boolean {
  return window.sessionStorage.getItem(kept) !== null;
}

/** Returns the request and removes it from storage. It stays in the address, so that the page can be reloaded. */
export function takeAuthorizationRequest(): string {
  const request = window.location.search || window.sessionStorage.getItem(kept) || '';
  window.sessionStorage.removeItem(kept);
  if (request !== '') window.history.replaceState(null, '', authorizePage + request);
  return request;
}
